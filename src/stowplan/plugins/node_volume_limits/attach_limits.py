"""Attach limits of nodes, and upper bounds of their attached volumes, which make most exact counts unnecessary."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster, NodeTable
from stowplan.cache.kept import KeptBySlot
from stowplan.plugins.node_volume_limits.attachable import attachable_volumes

UNLIMITED = 1 << 40
UNKNOWN_VOLUME_COUNT = 1 << 32
"""Count for a volume whose lookup may fail, so that the node is checked exactly."""


class AttachLimits:
    """Limits of nodes by driver, and columns of upper bounds to compare with them.

    An exact count looks up every claim on a node. An upper bound follows from the specs of the node's pods and the
    number of attachments, is kept from change to change, and is far below the limit on nearly all nodes.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._csi_nodes = cluster.stores.of(api.CSINode)
        self._attachments = cluster.stores.of(api.VolumeAttachment)
        self._limits: dict[str, dict[str, int]] = {}
        self._limits_version = -1
        self._columns: dict[str, NDArray[np.int64]] = {}
        self._columns_version: tuple[int, int] | None = None
        self._used = _UsedByPods(self._nodes)
        self._attached: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._attached_version: tuple[int, int] | None = None

    def limits(self) -> Mapping[str, Mapping[str, int]]:
        """The limits by driver of every node with a CSINode, by node name."""
        if self._limits_version != self._csi_nodes.version:
            self._limits_version = self._csi_nodes.version
            self._limits = {csi_node.metadata.name: limits_of(csi_node) for csi_node in self._csi_nodes}
        return self._limits

    @property
    def limited(self) -> bool:
        """Whether any node has a limit."""
        return any(self.limits().values())

    def nodes_to_check(self, new: Mapping[str, int]) -> fwk.Mask:
        """The slots of nodes that may not have room for the new volumes (counts by driver), or that need an exact
        check."""
        self._used.refresh(None)
        bound = self._used.values + self._attached_at_most()
        to_check: fwk.Mask = bound >= UNKNOWN_VOLUME_COUNT
        columns = self._limit_columns()
        for driver in new.keys() & columns.keys():
            to_check |= bound + new[driver] > columns[driver]
        return to_check

    def _limit_columns(self) -> dict[str, NDArray[np.int64]]:
        version = self._csi_nodes.version, self._nodes.membership
        if self._columns_version != version:
            self._columns_version = version
            self._columns = {}
            for name, limits in self.limits().items():
                slot = self._nodes.slot_of.get(name)
                for driver, limit in limits.items() if slot is not None else ():
                    if driver not in self._columns:
                        self._columns[driver] = np.full(self._nodes.capacity, UNLIMITED, dtype=np.int64)
                    self._columns[driver][slot] = limit
        return self._columns

    def _attached_at_most(self) -> NDArray[np.int64]:
        version = self._attachments.version, self._nodes.membership
        if self._attached_version != version:
            self._attached_version = version
            slots = [self._nodes.slot_of.get(attachment.spec.node_name) for attachment in self._attachments]
            known = np.array([slot for slot in slots if slot is not None], dtype=np.intp)
            self._attached = np.bincount(known, minlength=self._nodes.capacity).astype(np.int64)
        return self._attached


def limits_of(csi_node: api.CSINode) -> dict[str, int]:
    """The limit of each driver that has one."""
    counts = {d.name: d.allocatable.count for d in csi_node.spec.drivers if d.allocatable is not None}
    return {driver: count for driver, count in counts.items() if count is not None}


class _UsedByPods(KeptBySlot[None]):
    """By slot: an upper bound of the volumes that the pods on the node use."""

    __slots__ = ("values",)

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self.values: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def rebuild(self, context: None) -> None:
        self.values = np.zeros(self.nodes.capacity, dtype=np.int64)
        self.repair_many(np.arange(self.nodes.high))

    def repair_many(self, slots: fwk.Slots, context: None = None) -> None:
        for slot in slots.tolist():
            self.repair_one(slot)

    def repair_one(self, slot: int, context: None = None) -> None:
        info = self.nodes.infos[slot]
        self.values[slot] = 0 if info is None else sum(map(volumes_at_most, info.pods.values()))


def volumes_at_most(pod: fwk.Pod) -> int:
    """An upper bound of the volumes of a pod. Only claims by name are certain to be found without an error."""
    used = 0
    for volume in attachable_volumes(pod.template):
        source = volume.persistent_volume_claim
        used += 1 if source is not None and source.claim_name else UNKNOWN_VOLUME_COUNT
    return used
