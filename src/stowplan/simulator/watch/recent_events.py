"""Recent events; repeated events are merged."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from stowplan.framework import EmitEvent, Pod

_MAX_EVENTS = 50
_MERGED_EVENTS = 6
_MERGE_SECONDS = 1.0
"""Equal events among the last `_MERGED_EVENTS` within this time are merged."""


class RecentEvent(NamedTuple):
    """One line of the recent events."""

    time: float
    kind: str
    """Step, Placed, Refused or Evicted."""
    subject: str
    times: int
    note: str

    @property
    def text(self) -> str:
        """The event without its time."""
        pods = f"{self.times} of {self.subject}" if self.times > 1 else self.subject
        return self.note if self.kind == "Step" else f"{self.kind.lower()} {pods}{self.note}"


class RecentEvents:
    """Collects events and keeps the latest."""

    def __init__(self) -> None:
        self.entries: deque[RecentEvent] = deque(maxlen=_MAX_EVENTS)
        self.announcements: list[RecentEvent] = []
        """All steps of the scenario."""

    def announce(self, time: float, text: str) -> None:
        entry = RecentEvent(time, "Step", "", 1, text)
        self.entries.append(entry)
        self.announcements.append(entry)

    def take(self, time: float, event: EmitEvent) -> None:
        """Add an event that the scheduler emitted."""
        if event.reason == "Scheduled":
            self._add(time, "Placed", event.regarding, "")
        elif event.reason == "Preempted" and event.related is not None:
            self._add(time, "Evicted", event.regarding, f" for {_name(event.related)}")
        elif event.reason == "FailedScheduling":
            self._add(time, "Refused", event.regarding, f": {event.note}")

    def _add(self, time: float, kind: str, pod: Pod, note: str) -> None:
        subject = _name(pod)
        for index in range(-1, -min(len(self.entries), _MERGED_EVENTS) - 1, -1):
            entry = self.entries[index]
            if (entry.kind, entry.subject) == (kind, subject) and time - entry.time < _MERGE_SECONDS:
                self.entries[index] = RecentEvent(entry.time, kind, subject, entry.times + 1, note)
                return
        self.entries.append(RecentEvent(time, kind, subject, 1, note))


def _name(pod: Pod) -> str:
    """The name under which pods are merged: numbered workloads share a name."""
    return (pod.labels.get("app") or pod.name).rstrip("0123456789").removesuffix("-")
