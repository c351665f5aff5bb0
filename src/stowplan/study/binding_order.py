"""Puts the bindings of a recording into the order in which the scheduler decided.

A scheduler decides about one pod after the other, and sends bindings in parallel: they arrive in another order. It has
decided about a pod on a cluster with the pods that it had decided about before, bound already or not. The order of
decisions is that of the queue: higher priority first, then the pod that entered the queue first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from stowplan import api
from stowplan.traces.cluster_recording import RecordedChange

BINDING_WINDOW_SECONDS = 5.0
"""A binding is moved ahead by this time at most."""

Recorded = tuple[RecordedChange, Any]
_Place = tuple[int, int]
"""(negated priority, number): of one scheduler, pods with smaller places come first."""


def pods_last(changes: Iterator[Recorded]) -> Iterator[Recorded]:
    """Changes in which pods come after other objects, up to the line that ends the list at the start.

    The kinds are listed in parallel, so a pod may be bound in the recording before its nodes are listed.
    """
    pods: list[Recorded] = []
    for change, item in changes:
        if isinstance(item, api.Pod):
            pods.append((change, item))
        elif item is None:
            yield from pods
            pods = []
            yield change, item
            break
        else:
            yield change, item
    yield from pods
    yield from changes


class BindingOrder:
    """Iterates over changes; a binding is preceded by those of pods that were before its pod in the queue."""

    def __init__(self, changes: Iterator[Recorded], window: float = BINDING_WINDOW_SECONDS) -> None:
        self._changes = changes
        self._window = window
        self._ahead: deque[Recorded] = deque()
        self._next: Recorded | None = next(changes, None)
        self._bindings: dict[str, Recorded] = {}
        """Of the changes that are ahead, by the pod's uid."""
        self._pending: dict[str, tuple[str, _Place]] = {}
        """Scheduler and place of pending pods by uid."""
        self._queues: dict[str, list[tuple[_Place, str]]] = {}
        """By scheduler: heaps of pending pods, by uid, whose binding is ahead; also pods that are no longer pending."""
        self._moved: set[str] = set()
        """Pods whose binding was moved; their changes up to there are left out."""
        self._numbers = count()

    def __iter__(self) -> Iterator[Recorded]:
        while self._fill():
            change, item = self._ahead.popleft()
            if not isinstance(item, api.Pod):
                yield change, item
                continue
            uid = item.metadata.uid
            is_binding = self._bindings.get(uid, (None,))[0] is change
            if is_binding:
                del self._bindings[uid]
            if uid in self._moved and not change.removed:
                if is_binding:
                    self._moved.discard(uid)
                continue
            if is_binding and uid in self._pending:
                yield from self._earlier(uid, change.time)
            self._note(uid, item, change)
            yield change, item

    def _fill(self) -> bool:
        """Read ahead by the window; False at the end."""
        while self._next is not None:
            change, item = self._next
            if self._ahead and change.time > self._ahead[0][0].time + self._window:
                break
            self._ahead.append(self._next)
            is_bound = isinstance(item, api.Pod) and item.spec.node_name and not change.removed
            if is_bound and self._bindings.setdefault(item.metadata.uid, self._next) is self._next:
                self._enqueue(item.metadata.uid)
            self._next = next(self._changes, None)
        return bool(self._ahead)

    def _enqueue(self, uid: str) -> None:
        if uid in self._pending and uid in self._bindings:
            scheduler, place = self._pending[uid]
            heappush(self._queues.setdefault(scheduler, []), (place, uid))

    def _earlier(self, uid: str, time: float) -> Iterator[Recorded]:
        """Move the bindings of pods that were before this one."""
        scheduler, place = self._pending[uid]
        queue = self._queues.get(scheduler, [])
        while queue and queue[0][0] < place:
            before, other = heappop(queue)
            if other in self._bindings and self._pending.get(other) == (scheduler, before):
                change, item = self._bindings[other]
                self._moved.add(other)
                del self._pending[other]
                yield RecordedChange(time, change.kind, change.object), item

    def _note(self, uid: str, pod: api.Pod, change: RecordedChange) -> None:
        if change.removed or pod.spec.node_name:
            self._pending.pop(uid, None)
            self._moved.discard(uid)
        elif not pod.spec.scheduling_gates and (uid not in self._pending or _was_refused(pod)):
            # A refused pod enters the queue again, behind the others.
            self._pending[uid] = pod.spec.scheduler_name, (-(pod.spec.priority or 0), next(self._numbers))
            self._enqueue(uid)


def _was_refused(pod: api.Pod) -> bool:
    return any(each.type == "PodScheduled" and each.status == "False" for each in pod.status.conditions)
