"""What has happened lately, with what happens many times over told once."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from stowplan.framework import EmitEvent, Pod

_KEPT = 50
_LOOKED_AT = 6
_MEANWHILE = 1.0
"""Seconds within which the same is told once."""


class RecentEvent(NamedTuple):
    """A line of the feed."""

    time: float
    kind: str
    """Step, Placed, Refused or Evicted."""
    whom: str
    times: int
    note: str

    @property
    def text(self) -> str:
        """What happened; when is for others to say."""
        pods = f"{self.times} of {self.whom}" if self.times > 1 else self.whom
        return self.note if self.kind == "Step" else f"{self.kind.lower()} {pods}{self.note}"


class RecentEvents:
    """Takes events and gives the latest lines."""

    def __init__(self) -> None:
        self.entries: deque[RecentEvent] = deque(maxlen=_KEPT)
        self.announcements: list[RecentEvent] = []
        """What the scenario did, for those who read it all."""

    def announce(self, time: float, text: str) -> None:
        entry = RecentEvent(time, "Step", "", 1, text)
        self.entries.append(entry)
        self.announcements.append(entry)

    def take(self, time: float, event: EmitEvent) -> None:
        """An event that the scheduler emitted."""
        if event.reason == "Scheduled":
            self._add(time, "Placed", event.regarding, "")
        elif event.reason == "Preempted" and event.related is not None:
            self._add(time, "Evicted", event.regarding, f" for {_name(event.related)}")
        elif event.reason == "FailedScheduling":
            self._add(time, "Refused", event.regarding, f": {event.note}")

    def _add(self, time: float, kind: str, pod: Pod, note: str) -> None:
        whom = _name(pod)
        for index in range(-1, -min(len(self.entries), _LOOKED_AT) - 1, -1):
            entry = self.entries[index]
            if (entry.kind, entry.whom) == (kind, whom) and time - entry.time < _MEANWHILE:
                self.entries[index] = RecentEvent(entry.time, kind, whom, entry.times + 1, note)
                return
        self.entries.append(RecentEvent(time, kind, whom, 1, note))


def _name(pod: Pod) -> str:
    """What pods are called together: numbered workloads of a sort share a name."""
    return (pod.labels.get("app") or pod.name).rstrip("0123456789").removesuffix("-")
