"""Pods that are refused together: they move through the queue as one.

Pods of one template that were refused one after the other within a moment, with the same message, and whose backoff
ends in the same second, stay equal until an update of one of them: the same events wake them, they are tried one right
after the other, and the refusal of the first is the refusal of all. Attempts are counted for the batch, and added to
the counters of a pod when it leaves the batch or is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf

from stowplan.framework import Pod, QueuedPodInfo

OnRepeated = Callable[[QueuedPodInfo, int], None]
"""Receives a pod and the number of refusals that were just added to it."""


class RefusedBatch(QueuedPodInfo):
    """Equal pods in the order of their attempts. To heaps and indexes it is one pod, with a uid of its own."""

    __slots__ = ("_on_empty", "_on_repeated", "_pods", "_refusals", "_since", "members")

    def __init__(
        self,
        number: int,
        first: QueuedPodInfo,
        on_repeated: OnRepeated,
        on_empty: Callable[[RefusedBatch], None],
    ) -> None:
        """`on_empty` is called when the last pod has left."""
        template = first.pod.template
        super().__init__(Pod(template, "", f"batch {number}", template.labels), first.timestamp)
        self.unschedulable_count = first.unschedulable_count
        self.unschedulable_plugins = first.unschedulable_plugins
        self.refusal, self.has_condition = first.refusal, True
        self.members: dict[str, QueuedPodInfo] = {}
        self._on_empty = on_empty
        self._on_repeated = on_repeated
        self._refusals = 0
        self._since: dict[str, int] = {}
        """By the uid of a pod: the number of refusals that its counters have."""
        self._pods: tuple[Pod, ...] | None = None
        self.append(first)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def pods(self) -> tuple[Pod, ...]:
        """In the order of their attempts; the same object until a pod joins, leaves or is updated."""
        if self._pods is None:
            self._pods = tuple([info.pod for info in self.members.values()])
        return self._pods

    @property
    def first(self) -> QueuedPodInfo:
        return next(iter(self.members.values()))

    def append(self, info: QueuedPodInfo) -> None:
        """Add a pod at the end."""
        info.sub_queue = self
        self.members[info.pod.uid] = info
        self._since[info.pod.uid] = self._refusals
        self._pods = None

    def absorb(self, later: RefusedBatch) -> None:
        """Append the pods of another batch."""
        shift = self._refusals - later._refusals
        for uid, info in later.members.items():
            info.sub_queue = self
            self._since[uid] = later._since[uid] + shift
        self.members.update(later.members)
        self._pods = None

    def refused(self, now: float) -> None:
        """All pods were refused again."""
        self._refusals += 1
        self.unschedulable_count += 1
        self.timestamp = now
        self.backoff_expiration = None

    def discard(self, info: QueuedPodInfo) -> None:
        """Remove a pod, whose counters are up to date afterwards."""
        self.bring_up_to_date(info)
        uid = info.pod.uid
        del self.members[uid], self._since[uid]
        self._pods = None
        info.sub_queue = None
        if not self.members:
            self._on_empty(self)

    def replace_pod(self, info: QueuedPodInfo, pod: Pod) -> None:
        info.pod = pod
        self._pods = None

    def up_to_date(self) -> Iterable[QueuedPodInfo]:
        """All pods, with their counters."""
        for info in self.members.values():
            self.bring_up_to_date(info)
        return self.members.values()

    def bring_up_to_date(self, info: QueuedPodInfo) -> None:
        """Add the refusals since it joined, or since the last call, to the counters of a pod."""
        uid = info.pod.uid
        missed = self._refusals - self._since[uid]
        info.backoff_expiration = self.backoff_expiration
        if missed:
            self._since[uid] = self._refusals
            info.timestamp = self.timestamp
            info.attempts += missed
            info.unschedulable_count += missed
            info.was_flushed, info.flush_timestamp = False, -inf
            self._on_repeated(info, missed)


def each_pod(units: Iterable[QueuedPodInfo]) -> Iterator[QueuedPodInfo]:
    """The pods, with those of batches one by one."""
    for unit in units:
        if isinstance(unit, RefusedBatch):
            yield from list(unit.up_to_date())
        else:
            yield unit
