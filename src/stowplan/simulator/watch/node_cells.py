"""The nodes as cells by zone and pool; a deleted node keeps its cell, so that the map does not jump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stowplan import api
from stowplan.cache.nodes import NodeTable
from stowplan.cache.volumes import ZONE
from stowplan.framework import NodeInfo
from stowplan.simulator.api_server import ApiServer

READY, CORDONED, DEAD = "ready", "cordoned", "dead"

WITHOUT_LABEL = "-"
_POOLS = (
    "example.com/pool",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "pool",
    "node.kubernetes.io/instance-type",
)
"""Labels that name a node's pool; the first that some node has is used."""
_SHOWN_RESOURCES = ("cpu", "memory")
"""The fill of a node is the highest use of these resources, of its extended resources and of its devices."""
_FAILURE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class NodeCell(NamedTuple):
    """A node: its fill from 0 to 1, and whether it is ready, cordoned or dead (not ready, or deleted)."""

    fill: float
    state: str = READY


class Zone(NamedTuple):
    """The nodes of a zone by pool."""

    name: str
    pools: dict[str, list[NodeCell]]
    cpu: float
    """The requested share of the zone's CPU."""


class NodeCells:
    """The cells of a run, with the nodes that it has had."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, str]] = {}
        """Zone and pool of each node, in the order of first sight."""
        self._pool_label = ""

    def zones(self, nodes: NodeTable, devices: Mapping[str, tuple[int, int]]) -> list[Zone]:
        """All zones, by name. `devices`: see `devices_of`."""
        infos = {info.name: info for info in sorted(nodes, key=lambda info: info.slot)}
        self._place(infos.values())
        resources = (*_SHOWN_RESOURCES, *extended_resources(infos.values()))
        columns = [nodes.resource(name) for name in resources]
        cells: dict[str, dict[str, list[NodeCell]]] = {}
        cpu: dict[str, list[int]] = {}
        for name, (zone, pool) in self._places.items():
            into, sums = cells.setdefault(zone, {}).setdefault(pool, []), cpu.setdefault(zone, [0, 0])
            info = infos.get(name)
            if info is None:
                into.append(NodeCell(0.0, DEAD))
                continue
            pairs = [(requested.values[info.slot], allocatable.values[info.slot]) for allocatable, requested in columns]
            sums[0] += pairs[0][0]
            sums[1] += pairs[0][1]
            fill = max((taken / whole for taken, whole in (*pairs, devices.get(name, (0, 0))) if whole), default=0.0)
            into.append(NodeCell(fill, _state(info)))
        return [Zone(name, pools, cpu[name][0] / max(1, cpu[name][1])) for name, pools in sorted(cells.items())]

    def _place(self, infos: Iterable[NodeInfo]) -> None:
        new = [info for info in infos if info.name not in self._places]
        if new and not self._pool_label:
            self._pool_label = next((key for key in _POOLS if any(key in info.labels for info in new)), _POOLS[-1])
        for info in new:
            labels = info.labels
            self._places[info.name] = labels.get(ZONE, WITHOUT_LABEL), labels.get(self._pool_label, WITHOUT_LABEL)


def _state(info: NodeInfo) -> str:
    not_ready = any(each.type == "Ready" and each.status != "True" for each in info.status.conditions)
    if not_ready or any(taint.key in _FAILURE_TAINTS for taint in info.taints):
        return DEAD
    return CORDONED if info.unschedulable else READY


def extended_resources(infos: Iterable[NodeInfo]) -> list[str]:
    """Names of allocatable resources with a domain, such as nvidia.com/gpu."""
    return sorted({name for info in infos for name in info.node.status.allocatable if _is_extended(name)})


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("attachable-volumes") and not name.startswith("hugepages")


def devices_of(api_server: ApiServer) -> dict[str, tuple[int, int]]:
    """By node with devices of ResourceSlices: (allocated devices, all devices)."""
    taken: Counter[str] = Counter()
    for claim in api_server.all(api.ResourceClaim):
        if claim.status.allocation is not None:
            taken.update(result.pool for result in claim.status.allocation.devices.results)
    return {
        item.spec.node_name: (taken[item.spec.pool.name], len(item.spec.devices))
        for item in api_server.all(api.ResourceSlice)
        if item.spec.node_name and item.spec.devices
    }


def accelerators(nodes: NodeTable, devices: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """GPUs: (requested, allocatable) of extended resources with `gpu` in their name, and all devices."""
    taken = sum(pair[0] for pair in devices.values())
    whole = sum(pair[1] for pair in devices.values())
    for name in extended_resources(nodes):
        if "gpu" in name:
            allocatable, requested = nodes.resource(name)
            for info in nodes:
                taken += requested.values[info.slot]
                whole += allocatable.values[info.slot]
    return taken, whole
