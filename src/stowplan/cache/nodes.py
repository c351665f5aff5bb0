"""Nodes as slots: every fact about a node that plugins compare is a column.

Upstream: pkg/scheduler/framework/types.go (NodeInfo), pkg/scheduler/backend/cache/snapshot.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from stowplan import api
from stowplan.api.quantity import milli_value, value
from stowplan.api.read_only import ReadOnlyDict, freeze
from stowplan.cache.columns import ChangeLog, Column, ScalarColumns, Sheet
from stowplan.cache.images import ImageTable
from stowplan.cache.labels import LabelColumn, LabelColumns
from stowplan.cache.requests import is_schedulable_resource
from stowplan.framework import NodeInfo, Nodes

T = TypeVar("T")

_INITIAL_SLOTS = 64
_MAX_UNUSED_TAINT_SETS = 16
HANDICAP = 1 << 7
HANDICAP_LIMIT = (1 << 16) - HANDICAP
PODS_PER_HANDICAP = 4
"""More than one, since pods that come one after the other are decided faster if they go to the same node."""
_NO_NODE = api.Node()


class NodeTable:
    """Slots, and the columns over them. A removed node leaves a free slot that a later one takes."""

    def __init__(self) -> None:
        self.capacity = _INITIAL_SLOTS
        self.high = 0
        """One past the highest slot ever used: columns are read up to here."""
        self.infos: list[NodeInfo | None] = [None] * _INITIAL_SLOTS
        self.slot_of: dict[str, int] = {}
        self._free: list[int] = []
        self.alive: NDArray[np.bool_] = np.zeros(_INITIAL_SLOTS, dtype=np.bool_)
        self.unschedulable: NDArray[np.bool_] = np.zeros(_INITIAL_SLOTS, dtype=np.bool_)
        self.handicap: NDArray[np.int32] = np.zeros(_INITIAL_SLOTS, dtype=np.int32)
        """What the pods on a node set it back among nodes with equal totals: `HANDICAP` for every four of them, modulo
        2**16. What-ifs do not change it."""
        self.sheet = Sheet(_INITIAL_SLOTS)
        sheet = self.sheet
        self.allocatable: dict[str, Column] = {"cpu": sheet.allocatable_cpu, "memory": sheet.allocatable_memory}
        self.requested: dict[str, Column] = {"cpu": sheet.requested_cpu, "memory": sheet.requested_memory}
        self.allocatable["ephemeral-storage"] = Column(_INITIAL_SLOTS)
        self.requested["ephemeral-storage"] = Column(_INITIAL_SLOTS)
        self._offered_scalars = ScalarColumns(self.allocatable, _INITIAL_SLOTS, self._free, 1.0)
        self._requested_scalars = ScalarColumns(self.requested, _INITIAL_SLOTS, self._free, 0.0)
        self.allowed_pods = sheet.allowed_pods
        self.pod_count = sheet.pod_count
        self.non_zero_cpu = sheet.non_zero_cpu
        self.non_zero_memory = sheet.non_zero_memory
        self.taint_set: NDArray[np.intp] = np.zeros(_INITIAL_SLOTS, dtype=np.intp)
        self.taint_sets: list[tuple[api.Taint, ...]] = [()]
        self.taint_generation = 0
        """Grows when `taint_sets` is numbered anew, without the sets that no node has any more."""
        self._taint_ids: dict[tuple[api.Taint, ...], int] = {(): 0}
        self.images = ImageTable()
        self.labels = LabelColumns()
        self.node_log = ChangeLog(_INITIAL_SLOTS)
        """Slots whose node object changed, came or went."""
        self.log = ChangeLog(_INITIAL_SLOTS)
        """Slots where anything changed: the node object, or the pods on it."""
        self.version = 0
        """Changes when a node object changes, comes or goes. Equal versions mean equal node objects."""
        self.membership = 0
        """Changes when a node comes or goes."""
        self._versions, self._memberships = count(1), count(1)
        self._serves_plugins = False
        self._everything: Nodes | None = None
        self._derived: dict[object, Any] = {}
        self._allocatable_maps: dict[int, Mapping[str, int]] = {}
        """Maps for plugins that read a node's allocatable as a whole, by slot."""

    def __len__(self) -> int:
        return len(self.slot_of)

    def serve_plugins(self) -> None:
        """Out-of-tree plugins read the nodes: make the dicts in API objects read-only."""
        self._serves_plugins = True
        for info in self:
            self._freeze(info.node)

    def derive(self, make: Callable[[NodeTable], T]) -> T:
        """The value of `make(self)`, made at most once: for state about all nodes that several plugins share."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return self._derived[make]  # type: ignore[no-any-return]

    def update_handicap(self, slot: int) -> None:
        self.handicap[slot] = self.pod_count.values[slot] // PODS_PER_HANDICAP * HANDICAP & HANDICAP_LIMIT

    def everything(self) -> Nodes:
        """All nodes; slots without one are holes. The same object while no node comes or goes."""
        if self._everything is None:
            holes = np.array(sorted(self._free), dtype=np.intp) if self._free else None
            self._everything = Nodes(slice(0, self.high), self.high, self.infos, holes)
        return self._everything

    def subset(self, slots: NDArray[np.intp], *, fleeting: bool = False) -> Nodes:
        """Some nodes; `fleeting` if the cluster does not change while the subset is in use."""
        return Nodes(slots, len(slots), self.infos, fleeting=fleeting)

    def where(self, mask: NDArray[np.bool_]) -> Nodes:
        """The nodes at slots where the mask is true.

        Vectors over a slice cost little, so the other nodes become holes; gathering pays only if few nodes are left.
        """
        high = self.high
        left = int(np.count_nonzero(mask))
        if left == high:
            return Nodes(slice(0, high), high, self.infos)
        if left * 8 > high:
            return Nodes(slice(0, high), high, self.infos, np.flatnonzero(~mask))
        return Nodes(np.flatnonzero(mask), left, self.infos)

    def get(self, name: str) -> NodeInfo | None:
        slot = self.slot_of.get(name)
        return None if slot is None else self.infos[slot]

    def __iter__(self) -> Iterator[NodeInfo]:
        return (info for info in self.infos if info is not None)

    def resource(self, name: str) -> tuple[Column, Column]:
        """(allocatable, requested) columns of a resource. `allocatable` and `requested` hold those with any amount."""
        return self._offered_scalars.get(name), self._requested_scalars.get(name)

    def label(self, key: str) -> LabelColumn:
        """The column of a label key, made when a selector first reads the key."""
        return self.labels.get(key, self.capacity, self)

    def everywhere(self, column: Column) -> bool:
        """Whether the column is positive for every node. Empty slots hold 1 there, and so do not matter."""
        if column.everywhere[0] != self.version:
            column.everywhere = (self.version, bool(column.array[: self.high].min(initial=1.0) > 0))
        return column.everywhere[1]

    def put(self, node: api.Node, source: Any = None) -> NodeInfo:
        """Add or update a node."""
        if self._serves_plugins:
            self._freeze(node)
        slot = self.slot_of.get(node.metadata.name)
        if slot is None:
            slot = self._claim_slot(node.metadata.name)
            info = self.infos[slot] = NodeInfo(slot, node, self)
            before = _NO_NODE
        else:
            found = self.infos[slot]
            assert found is not None
            info = found
            before, info.node = info.node, node
            info.labels = MappingProxyType(node.metadata.labels)
            if source is None and _looks_alike(before, node):
                return info
        info.source = source
        self._fill(slot, before, node)
        self.note_change(slot)
        return info

    def remove(self, name: str) -> None:
        slot = self.slot_of.pop(name)
        info = self.infos[slot]
        assert info is not None
        self._fill(slot, info.node, _NO_NODE)
        for column in self.allocatable.values():
            column.array[slot] = 1.0
        self.infos[slot] = None
        self.alive[slot] = False
        self._free.append(slot)
        self._joined_or_left()
        self.note_change(slot)

    def allocatable_of(self, slot: int) -> Mapping[str, int]:
        known = self._allocatable_maps.get(slot)
        if known is not None:
            return known
        amounts = {name: column.values[slot] for name, column in self.allocatable.items() if column.values[slot]}
        amounts["pods"] = self.allowed_pods.values[slot]
        made = self._allocatable_maps[slot] = MappingProxyType(amounts)
        return made

    def requested_of(self, slot: int) -> Mapping[str, int]:
        amounts = {name: column.values[slot] for name, column in self.requested.items() if column.values[slot]}
        amounts["pods"] = self.pod_count.values[slot]
        return amounts

    @staticmethod
    def _freeze(node: api.Node) -> None:
        freeze(node.metadata)
        for name in ("allocatable", "capacity"):
            force_setattr(node.status, name, ReadOnlyDict(getattr(node.status, name)))

    @contextmanager
    def temporary_changes(self) -> Iterator[None]:
        """A context in which node objects are altered; the caller puts the original ones back before its end.

        Kept answers that are not read within it stay valid, unless a new slot is needed.
        """
        before = self.version, self.membership, self._everything
        high = self.high
        try:
            yield
        finally:
            if self.high == high:
                self.version, self.membership, self._everything = before

    def note_change(self, slot: int) -> None:
        """The node object at the slot changed, came or went."""
        self.version = next(self._versions)
        if len(self.taint_sets) > 2 * len(self) + _MAX_UNUSED_TAINT_SETS:
            self._renumber_taint_sets()
        self.node_log.append(slot)
        self.log.append(slot)

    def _joined_or_left(self) -> None:
        self.membership = next(self._memberships)
        self._everything = None

    def _claim_slot(self, name: str) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot = self.high
            if slot == self.capacity:
                self._grow(2 * self.capacity)
            self.high += 1
        self.slot_of[name] = slot
        self.alive[slot] = True
        self._joined_or_left()
        return slot

    def _fill(self, slot: int, before: api.Node, node: api.Node) -> None:
        self._allocatable_maps.pop(slot, None)
        amounts = node.status.allocatable
        for name, column in list(self.allocatable.items()):
            if name not in amounts:
                column.set(slot, 0)
        for name, quantity in amounts.items():
            if is_schedulable_resource(name):
                amount = (milli_value if name == "cpu" else value)(quantity)
                self._offered_scalars.get(name).set(slot, amount)
        self.allowed_pods.set(slot, value(amounts.get("pods", 0)))
        self.unschedulable[slot] = node.spec.unschedulable
        self.taint_set[slot] = self._taint_set_id(node.spec.taints)
        self.labels.replace(slot, before.metadata.labels, node.metadata.labels)
        self.images.replace(slot, before.status.images, node.status.images)

    def _taint_set_id(self, taints: tuple[api.Taint, ...]) -> int:
        number = self._taint_ids.get(taints)
        if number is None:
            number = self._taint_ids[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        return number

    def _renumber_taint_sets(self) -> None:
        """Drop the sets that no node has. At most one set per node is left, so the next time is far."""
        self.taint_sets, self._taint_ids = [()], {(): 0}
        self.taint_generation += 1
        self.taint_set[:] = 0
        for info in self:
            self.taint_set[info.slot] = self._taint_set_id(info.node.spec.taints)

    def _grow(self, size: int) -> None:
        more = size - self.capacity
        self.capacity = size
        self.infos.extend([None] * more)
        flags = np.zeros(more, dtype=np.bool_)
        self.alive = np.concatenate([self.alive, flags])
        self.unschedulable = np.concatenate([self.unschedulable, flags])
        self.handicap = np.concatenate([self.handicap, np.zeros(more, dtype=np.int32)])
        self.taint_set = np.concatenate([self.taint_set, np.zeros(more, dtype=np.intp)])
        self.sheet.grow(size)
        for columns in (self.allocatable, self.requested):
            columns["ephemeral-storage"].grow(size)
        self._offered_scalars.grow(size)
        self._requested_scalars.grow(size)
        self.labels.grow(size)
        self.node_log.grow(size)
        self.log.grow(size)


def _looks_alike(before: api.Node, after: api.Node) -> bool:
    """Whether no field changed that a plugin may read: most updates are heartbeats, whose times are not decoded."""
    return (
        before.spec == after.spec
        and before.metadata.labels == after.metadata.labels
        and before.metadata.annotations == after.metadata.annotations
        and before.status == after.status
    )
