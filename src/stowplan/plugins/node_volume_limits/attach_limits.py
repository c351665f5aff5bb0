"""Attach limits of nodes, and the nodes that cannot attach more volumes.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.plugins.node_volume_limits.volumes_in_use import VolumesInUse

UNLIMITED = 1 << 40


class AttachLimits:
    """Limits of nodes by driver, as columns to compare with the volumes in use."""

    def __init__(self, cluster: Cluster, in_use: VolumesInUse) -> None:
        self._nodes = cluster.nodes
        self._csi_nodes = cluster.stores.of(api.CSINode)
        self._in_use = in_use
        self._limits: dict[str, dict[str, int]] = {}
        self._limits_version = -1
        self._columns: dict[str, NDArray[np.int64]] = {}
        self._columns_version: tuple[int, int] | None = None

    def limits(self) -> Mapping[str, Mapping[str, int]]:
        """The limits by driver of every node with a CSINode, by node name."""
        if self._limits_version != self._csi_nodes.version:
            self._limits_version = self._csi_nodes.version
            self._limits = {csi_node.metadata.name: limits_of(csi_node) for csi_node in self._csi_nodes}
        return self._limits

    @property
    def limited(self) -> bool:
        """Whether any node has a limit."""
        return bool(self._limit_columns())

    def exceeded(self, new: Mapping[str, int]) -> fwk.Mask | None:
        """The slots of nodes that cannot attach this many new volumes by driver; None if no node limits the drivers."""
        columns = self._limit_columns()
        exceeded: fwk.Mask | None = None
        for driver in new.keys() & columns.keys():
            over = self._in_use.counts(driver) + new[driver] > columns[driver]
            exceeded = over if exceeded is None else exceeded | over
        return exceeded

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


def limits_of(csi_node: api.CSINode) -> dict[str, int]:
    """The limit of each driver that has one."""
    counts = {d.name: d.allocatable.count for d in csi_node.spec.drivers if d.allocatable is not None}
    return {driver: count for driver, count in counts.items() if count is not None}
