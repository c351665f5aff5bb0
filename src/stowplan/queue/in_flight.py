"""Pods between pop and done, and the cluster events recorded meanwhile.

Upstream: pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from stowplan.framework import Action, ClusterEvent, EventResource, QueuedPodInfo

MAX_RECORDED_EVENTS = 100_000

FORGOTTEN = ClusterEvent(EventResource.Wildcard, Action.All, "ForgottenEvents")
"""Replaces events that were dropped, any of which may have made any pod schedulable."""


class RecordedEvent(NamedTuple):
    """A cluster event with the old and the new object."""

    event: ClusterEvent
    old: Any
    new: Any


class InFlight:
    """The events that each pod missed during its attempt.

    Events are stored once, under consecutive numbers; each pod has the number of the first event after its pop. Events
    older than every pod in flight are dropped. Beyond the maximum, the oldest events are dropped as well, and pods
    that were in flight before get FORGOTTEN instead.
    """

    def __init__(self, max_events: int = MAX_RECORDED_EVENTS) -> None:
        self._infos: dict[str, QueuedPodInfo] = {}
        self._events: deque[RecordedEvent] = deque()
        self._dropped = 0
        """Number of dropped events, which is the number of the first stored event."""
        self._max_events = max_events

    def __len__(self) -> int:
        return len(self._infos)

    def __contains__(self, uid: str) -> bool:
        return uid in self._infos

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In the order of pop."""
        return iter(self._infos.values())

    @property
    def events(self) -> int:
        """Number of stored events."""
        return len(self._events)

    def enter(self, info: QueuedPodInfo) -> None:
        info.first_event = self._dropped + len(self._events)
        self._infos[info.pod.uid] = info

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Store an event; only while pods are in flight."""
        if len(self._events) >= self._max_events:
            self._drop()
        self._events.append(RecordedEvent(event, old, new))

    def events_since(self, info: QueuedPodInfo) -> Iterator[RecordedEvent]:
        """Events since the pod was popped."""
        if info.first_event < self._dropped:
            yield RecordedEvent(FORGOTTEN, None, None)
        yield from islice(self._events, max(info.first_event - self._dropped, 0), None)

    def leave(self, uid: str) -> None:
        """End of the attempt. Does nothing if the pod is not in flight."""
        info = self._infos.pop(uid, None)
        if info is None or not self._events or info.first_event > self._dropped:
            return
        if not self._infos:
            self._dropped += len(self._events)
            self._events.clear()
            return
        oldest = next(iter(self._infos.values()))
        while self._dropped < oldest.first_event:
            self._drop()

    def _drop(self) -> None:
        self._events.popleft()
        self._dropped += 1
