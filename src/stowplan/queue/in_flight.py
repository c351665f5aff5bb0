"""Pods between pop and done, and what happened in the cluster meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from stowplan.framework import Action, ClusterEvent, EventResource, QueuedPodInfo

MOST_EVENTS = 100_000

FORGOTTEN = ClusterEvent(EventResource.Wildcard, Action.All, "ForgottenEvents")
"""Stands for events that were dropped: for all that is known, they may have made any pod schedulable."""


class Happening(NamedTuple):
    """A cluster event and the objects it is about."""

    event: ClusterEvent
    old: Any
    new: Any


class InFlight:
    """Which events each info missed while it was being scheduled.

    Events are kept once for all infos, under running numbers; a info knows the number of the first one after its pop.
    Events that came before all infos in flight are dropped. If a info stays very long, the oldest events are dropped
    all the same, and it finds FORGOTTEN in their place.
    """

    def __init__(self, most_events: int = MOST_EVENTS) -> None:
        self._infos: dict[str, QueuedPodInfo] = {}
        self._events: deque[Happening] = deque()
        self._dropped = 0
        """How many events were dropped so far, which is the number of the first one that is kept."""
        self._most_events = most_events

    def __len__(self) -> int:
        return len(self._infos)

    def __contains__(self, uid: str) -> bool:
        return uid in self._infos

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In the order in which they were popped."""
        return iter(self._infos.values())

    @property
    def events(self) -> int:
        """How many events are kept."""
        return len(self._events)

    def enter(self, info: QueuedPodInfo) -> None:
        info.first_event = self._dropped + len(self._events)
        self._infos[info.pod.uid] = info

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """To be called while there are infos in flight only."""
        if len(self._events) >= self._most_events:
            self._drop()
        self._events.append(Happening(event, old, new))

    def events_since(self, info: QueuedPodInfo) -> Iterator[Happening]:
        """What happened since the info was popped."""
        if info.first_event < self._dropped:
            yield Happening(FORGOTTEN, None, None)
        yield from islice(self._events, max(info.first_event - self._dropped, 0), None)

    def leave(self, uid: str) -> None:
        """No more events for this info. Does nothing if it is not in flight."""
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
