"""Nodes as slots: every fact about a node that plugins compare is a column.

Upstream: pkg/scheduler/framework/types.go (NodeInfo), pkg/scheduler/backend/cache/snapshot.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stowplan import api
from stowplan.api.quantity import milli_value, value
from stowplan.cache.columns import ChangeLog, Column, Sheet
from stowplan.cache.images import ImageTable
from stowplan.cache.labels import LabelColumn
from stowplan.cache.requests import is_schedulable_resource
from stowplan.framework import NodeInfo, Nodes

T = TypeVar("T")

_INITIAL = 64


class NodeTable:
    """Slots, and the columns over them. A removed node leaves a free slot that a later one takes."""

    def __init__(self) -> None:
        self.capacity = _INITIAL
        self.high = 0
        """One past the highest slot ever used: columns are read up to here."""
        self.infos: list[NodeInfo | None] = [None] * _INITIAL
        self.slot_of: dict[str, int] = {}
        self._free: list[int] = []
        self.alive: NDArray[np.bool_] = np.zeros(_INITIAL, dtype=np.bool_)
        self.unschedulable: NDArray[np.bool_] = np.zeros(_INITIAL, dtype=np.bool_)
        self.sheet = Sheet(_INITIAL)
        sheet = self.sheet
        self.allocatable: dict[str, Column] = {"cpu": sheet.allocatable_cpu, "memory": sheet.allocatable_memory}
        self.requested: dict[str, Column] = {"cpu": sheet.requested_cpu, "memory": sheet.requested_memory}
        self.resource("ephemeral-storage")
        self.allowed_pods = sheet.allowed_pods
        self.pod_count = sheet.pod_count
        self.non_zero_cpu = sheet.non_zero_cpu
        self.non_zero_memory = sheet.non_zero_memory
        self.taint_set: NDArray[np.intp] = np.zeros(_INITIAL, dtype=np.intp)
        self.taint_sets: list[tuple[api.Taint, ...]] = [()]
        self._taint_ids: dict[tuple[api.Taint, ...], int] = {(): 0}
        self.images = ImageTable()
        self._label_columns: dict[str, LabelColumn] = {}
        self._everywhere: dict[int, tuple[int, bool]] = {}
        self.node_log = ChangeLog(_INITIAL)
        """Slots whose node object changed, came or went."""
        self.log = ChangeLog(_INITIAL)
        """Slots where anything changed: the node object, or the pods on it."""
        self.membership = 0
        """Grows when a node comes or goes."""
        self._everything: Nodes | None = None
        self._derived: dict[object, Any] = {}
        self._allocatable_maps: dict[int, Mapping[str, int]] = {}
        """Maps for plugins that read a node's allocatable as a whole, by slot."""

    def __len__(self) -> int:
        return len(self.slot_of)

    def derive(self, make: Callable[[NodeTable], T]) -> T:
        """The value of `make(self)`, made at most once: for state about all nodes that several plugins share."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return self._derived[make]  # type: ignore[no-any-return]

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
        """(allocatable, requested) columns of a resource, made on first use."""
        column = self.allocatable.get(name)
        if column is None:
            column = self.allocatable[name] = Column(self.capacity)
            self.requested[name] = Column(self.capacity)
        return column, self.requested[name]

    def label(self, key: str) -> LabelColumn:
        """The column of a label key, made when a selector first reads it."""
        column = self._label_columns.get(key)
        if column is None:
            column = self._label_columns[key] = LabelColumn(key, self.capacity)
            for info in self:
                column.put(info.slot, info.labels)
        return column

    def everywhere(self, column: Column) -> bool:
        """Whether the column is positive for every node. Empty slots hold 1 there, and so do not matter."""
        known = self._everywhere.get(id(column))
        if known is None or known[0] != self.node_log.position:
            known = (self.node_log.position, bool(column.array[: self.high].min(initial=1.0) > 0))
            self._everywhere[id(column)] = known
        return known[1]

    def put(self, node: api.Node, source: Any = None) -> NodeInfo:
        """Add or update a node."""
        slot = self.slot_of.get(node.metadata.name)
        if slot is None:
            slot = self._claim_slot(node.metadata.name)
            info = self.infos[slot] = NodeInfo(slot, node, self)
            old_images: tuple[api.ContainerImage, ...] = ()
        else:
            found = self.infos[slot]
            assert found is not None
            info, old_images = found, found.node.status.images
            before = info.node
            info.update(node)
            if source is None and _looks_alike(before, node):
                return info
        info.source = source
        self._fill(slot, node)
        self.images.replace(slot, old_images, node.status.images)
        self._changed(slot)
        return info

    def remove(self, name: str) -> None:
        slot = self.slot_of.pop(name)
        info = self.infos[slot]
        assert info is not None
        self.images.replace(slot, info.node.status.images, ())
        self._fill(slot, api.Node())
        for column in self.allocatable.values():
            column.array[slot] = 1.0
        self.infos[slot] = None
        self.alive[slot] = False
        self._free.append(slot)
        self._joined_or_left()
        self._changed(slot)

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

    def _joined_or_left(self) -> None:
        self.membership += 1
        self._everything = None

    def _changed(self, slot: int) -> None:
        self.node_log.append(slot)
        self.log.append(slot)

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

    def _fill(self, slot: int, node: api.Node) -> None:
        self._allocatable_maps.pop(slot, None)
        amounts = node.status.allocatable
        for name in amounts:
            if is_schedulable_resource(name):
                self.resource(name)
        for name, column in self.allocatable.items():
            column.set(slot, (milli_value if name == "cpu" else value)(amounts.get(name, 0)))
        self.allowed_pods.set(slot, value(amounts.get("pods", 0)))
        self.unschedulable[slot] = node.spec.unschedulable
        taints = node.spec.taints
        if taints not in self._taint_ids:
            self._taint_ids[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        self.taint_set[slot] = self._taint_ids[taints]
        for label in self._label_columns.values():
            label.put(slot, node.metadata.labels)

    def _grow(self, size: int) -> None:
        more = size - self.capacity
        self.capacity = size
        self.infos.extend([None] * more)
        flags = np.zeros(more, dtype=np.bool_)
        self.alive = np.concatenate([self.alive, flags])
        self.unschedulable = np.concatenate([self.unschedulable, flags])
        self.taint_set = np.concatenate([self.taint_set, np.zeros(more, dtype=np.intp)])
        self.sheet.grow(size)
        for column in (*self.allocatable.values(), *self.requested.values()):
            if column not in self.sheet.columns:
                column.grow(size)
        for label in self._label_columns.values():
            label.grow(size)
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
