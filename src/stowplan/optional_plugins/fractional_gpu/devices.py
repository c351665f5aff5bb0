"""The GPUs of nodes, and their free shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import Cluster
from stowplan.cache.kept import KeptBySlot
from stowplan.config.args import FractionalGPUArgs
from stowplan.framework import NodeInfo, Pod
from stowplan.framework.reservations import Reservations
from stowplan.optional_plugins.fractional_gpu.request import WHOLE_MILLI, GpuRequest, whole_number

Indices = tuple[int, ...]
"""Indices of the GPUs of a pod."""

MAX_GPUS = 64
_MAX_INDEX_DIGITS = 4
"""GPUs of a node that are counted."""


class Assignment(NamedTuple):
    """The GPUs of a pod; None: which ones is unknown."""

    request: GpuRequest
    devices: Indices | None


class NodeGpus(NamedTuple):
    """The GPUs of a node."""

    size: int
    """Of one GPU, in the unit of the resource."""
    left: tuple[int, ...]
    """By GPU, in the same unit. Negative where more pods than fit use a GPU."""
    kinds: frozenset[str] = frozenset()
    """Of the pods with GPUs on the node."""

    @property
    def milli_left(self) -> tuple[int, ...]:
        """By GPU, in thousandths, rounded down."""
        if self.size == WHOLE_MILLI:
            return self.left
        return tuple(max(left, 0) * WHOLE_MILLI // self.size for left in self.left)

    def milli(self, share: int) -> int:
        """A share in thousandths, rounded up."""
        return share if self.size in (WHOLE_MILLI, 0) else -(-share * WHOLE_MILLI // self.size)

    def fits(self, request: GpuRequest) -> bool:
        gpus, share = request
        if gpus == 1:
            return any(left >= share for left in self.left)
        return sum(left >= share for left in self.left) >= gpus


NO_GPUS = NodeGpus(0, ())


class GpuTable(KeptBySlot[None]):
    """What is left of each GPU, by slot. Follows the pods on nodes."""

    def __init__(
        self,
        cluster: Cluster,
        args: FractionalGPUArgs,
        request_of: Callable[[Pod], GpuRequest],
        reservations: Reservations[Assignment],
    ) -> None:
        super().__init__(cluster.nodes)
        self._cluster = cluster
        self._args = args
        self._request_of = request_of
        self._reservations = reservations
        self.follow_reservations = False
        """Whether pods are reserved that are not assumed, as in an extender: the change log does not show them."""
        self._promised: set[int] = set()
        """Slots of nodes with such pods."""
        self._states: list[NodeGpus] = []
        self._assigned: list[dict[str, Assignment]] = []
        """By slot: the pods with GPUs by uid."""
        self._best: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """By slot: the number of GPUs."""
        self.sizes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """By slot: the size of one GPU."""

    def of(self, slot: int) -> NodeGpus:
        """The GPUs of a node. During a what-if, with the pods that are on the node for its sake."""
        self.refresh(None)
        if self._cluster.journal.active:
            return self._compute(slot)[0]
        if self.follow_reservations:
            self._repair_promised(slot)
        return self._states[slot]

    def without(self, slot: int, uid: str) -> NodeGpus:
        """The GPUs of a node as if a pod were not on it."""
        return self._compute(slot, uid)[0]

    def best_left(self) -> NDArray[np.int64]:
        """(rank, slot): free shares of the GPUs, largest first; -1 beyond the node's number of GPUs."""
        self.refresh(None)
        if self.follow_reservations:
            slots = (self.nodes.slot_of.get(name) for name in self._reservations.node_names())
            for slot in self._promised.union(slot for slot in slots if slot is not None):
                self.repair_one(slot, None)
        return self._best

    def _repair_promised(self, slot: int) -> None:
        info = self.nodes.infos[slot]
        if slot in self._promised or (info is not None and info.name in self._reservations.node_names()):
            self.repair_one(slot, None)

    def rebuild(self, context: None) -> None:
        size = self.nodes.capacity
        self._states = [*self._states, *[NO_GPUS] * (size - len(self._states))]
        self._assigned = [*self._assigned, *({} for _ in range(size - len(self._assigned)))]
        self._best = np.full((1, size), -1, dtype=np.int64)
        self.counts, self.sizes = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.repair_many(np.arange(self.nodes.high), None)

    def repair_many(self, slots: NDArray[np.intp], context: None) -> None:
        for slot in slots.tolist():
            self.repair_one(slot, None)

    def repair_one(self, slot: int, context: None) -> None:
        state, self._assigned[slot] = self._compute(slot)
        self._states[slot] = state
        if len(state.left) > len(self._best):
            more = np.full((len(state.left) - len(self._best), self._best.shape[1]), -1, dtype=np.int64)
            self._best = np.concatenate([self._best, more])
        self.counts[slot], self.sizes[slot] = len(state.left), state.size
        self._best[:, slot] = -1
        if state.left:
            self._best[: len(state.left), slot] = sorted(state.left, reverse=True)

    def _compute(self, slot: int, absent: str = "") -> tuple[NodeGpus, dict[str, Assignment]]:
        info = self.nodes.infos[slot]
        if info is None:
            return NO_GPUS, {}
        count, size = self._offered(info)
        if not count:
            return NO_GPUS, {}
        assigned = self._assignments(slot, info, count)
        assigned.pop(absent, None)
        left = [size] * count
        unplaced = []
        for uid, (request, devices) in assigned.items():
            if devices is not None:
                for index in devices:
                    left[index] -= request.share
            elif uid not in self._cluster.pods:
                unplaced.append(request)
            else:  # It may use any of them.
                left = [each - request.share for each in left]
        for request in unplaced:  # Pods of a what-if, such as nominated ones.
            for index in best_fit(left, request):
                left[index] -= request.share
        kinds = frozenset(each.request.kind(size) for each in assigned.values()) if assigned else frozenset()
        return NodeGpus(size, tuple(left), kinds), assigned

    def _assignments(self, slot: int, info: NodeInfo, count: int) -> dict[str, Assignment]:
        known = self._assigned[slot] if slot < len(self._assigned) else {}
        reserved = self._reservations.on(info)
        assigned: dict[str, Assignment] = {}
        for uid, pod in info.pods.items():
            found = known.get(uid)
            if found is None or found.devices is None:
                request = self._request_of(pod)
                if not request.gpus:
                    continue
                found = reserved.get(uid) or Assignment(request, self._annotated(pod, count))
            assigned[uid] = found
        self._promised.discard(slot)
        for uid, promised in reserved.items():
            if uid not in assigned and promised.devices and promised.devices[-1] < count:
                assigned[uid] = promised
                self._promised.add(slot)
        return assigned

    def _annotated(self, pod: Pod, count: int) -> Indices | None:
        return parse_indices(pod.metadata.annotations.get(self._args.index_annotation, ""), count)

    def _offered(self, info: NodeInfo) -> tuple[int, int]:
        """(number of GPUs, size of one)."""
        amounts = info.allocatable
        total = amounts.get(self._args.resource, 0)
        text = info.labels.get(self._args.gpu_count, "")
        count = amounts.get(self._args.gpu_count, 0) or whole_number(text)
        if self._args.is_milli:
            return min(count or total // WHOLE_MILLI, MAX_GPUS), WHOLE_MILLI
        return (min(count, MAX_GPUS), total // count) if count and total >= count else (0, 0)


def best_fit(left: Iterable[int], request: GpuRequest) -> Indices:
    """The GPUs with the least left that fit, lowest index first; () if too few fit."""
    fitting = sorted((each, index) for index, each in enumerate(left) if each >= request.share)
    if len(fitting) < request.gpus:
        return ()
    return tuple(sorted(index for _, index in fitting[: request.gpus]))


def parse_indices(text: str, count: int) -> Indices | None:
    """Indices joined by "-" or ","; None if they are none of the node's GPUs."""
    parts = text.replace(",", "-").split("-")
    if not all(part.isdecimal() and len(part) <= _MAX_INDEX_DIGITS and int(part) < count for part in parts):
        return None
    return tuple(sorted(map(int, parts)))
