"""Features of nodes and pods: the same code for training and for the plugin that runs the policy."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import Cluster
from stowplan.cache.columns import float_view
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.lru_map import LruMap
from stowplan.cache.nodes import NodeTable
from stowplan.framework import Pod

Features = NDArray[np.float32]

NODE_FEATURES = ("cpu size", "cpu free", "cpu left", "memory size", "memory free", "memory left", "pods free")
"""Size: relative to the largest node. Free: share of the node. Left: share of the node once the pod is on it."""
CLUSTER_FEATURES = ("cpu size", "cpu free", "memory size", "memory free", "pods free")
"""The features of a node that do not depend on a pod."""
POD_FEATURES = ("cpu", "memory", "priority", "waited")
"""Requests relative to the largest node; priority / 1000; seconds since creation / 3600; all at most 1."""

_RESOURCES = ("cpu", "memory")
_MAX_PRIORITY = 1000.0
_MAX_WAIT_SECONDS = 3600.0


_Requests = tuple[int, int]
"""CPU and memory of a pod."""
_CHANGING_ROWS = (1, 2, 4, 5, 6)
"""Features that depend on the pods of a node."""
_CLUSTER_ROWS = [NODE_FEATURES.index(name) for name in CLUSTER_FEATURES]
MAX_KEPT_REQUESTS = 64
"""Different requests of pods for which features of nodes are kept."""


def seconds_since(timestamp: str, now: float) -> float:
    """Seconds since a time in RFC 3339, which has whole seconds; 0 without a time."""
    return max(now - datetime.fromisoformat(timestamp).timestamp(), 0.0) if timestamp else 0.0


class NodeFeatures(KeptBySlot[None]):
    """Features of all nodes for pods with equal requests; `refresh` updates the nodes that changed."""

    __slots__ = ("_amounts", "_factors", "_requests", "_slots", "_views", "rows")

    rebuilds_for_nodes = True

    def __init__(self, nodes: NodeTable, requests: _Requests, slots: int) -> None:
        super().__init__(nodes)
        self._requests = requests
        self._slots = slots
        self.rows: Features = np.zeros((0, 0), dtype=np.float32)
        """(feature, slot): the slots of a feature are next to each other."""

    def rebuild(self, context: None) -> None:
        nodes, high = self.nodes, self.nodes.high
        self.rows = np.zeros((len(NODE_FEATURES), max(self._slots, high)), dtype=np.float32)
        self._views = [self.rows[row].data.cast("B").cast("f") for row in _CHANGING_ROWS]
        allocatable = [nodes.allocatable[name] for name in _RESOURCES]
        requested = [nodes.requested[name] for name in _RESOURCES]
        columns = (*allocatable, nodes.allowed_pods, *requested, nodes.pod_count)
        self._amounts = tuple(column.values for column in columns)
        self._factors = [float_view(1 / np.maximum(column.array[:high], 1)) for column in columns[:3]]
        for number, column in enumerate(allocatable):
            amounts = column.array[:high]
            self.rows[3 * number, :high] = amounts / max(amounts.max(initial=0), 1)
        self.repair_many(np.arange(high), context)

    def repair_many(self, slots: NDArray[np.intp], context: None) -> None:
        """Computes the features of all slots, which takes less time than to select some."""
        nodes, high = self.nodes, self.nodes.high
        rows = self.rows[:, :high]
        for number, resource in enumerate(_RESOURCES):
            left = nodes.allocatable[resource].array[:high] - nodes.requested[resource].array[:high]
            factor = np.asarray(self._factors[number])
            np.multiply(left, factor, out=rows[3 * number + 1], casting="unsafe")
            left -= self._requests[number]
            np.multiply(left, factor, out=rows[3 * number + 2], casting="unsafe")
        free = nodes.allowed_pods.array[:high] - nodes.pod_count.array[:high]
        np.multiply(free, np.asarray(self._factors[2]), out=rows[6], casting="unsafe")
        np.clip(rows, 0, 1, out=rows)

    def repair_one(self, slot: int, context: None) -> None:
        cpus, memories, allowed, used_cpus, used_memories, pods = self._amounts
        cpu_factor, memory_factor, pods_factor = self._factors
        cpu, memory = cpus[slot] - used_cpus[slot], memories[slot] - used_memories[slot]
        features = (
            cpu * cpu_factor[slot],
            (cpu - self._requests[0]) * cpu_factor[slot],
            memory * memory_factor[slot],
            (memory - self._requests[1]) * memory_factor[slot],
            (allowed[slot] - pods[slot]) * pods_factor[slot],
        )
        for view, feature in zip(self._views, features, strict=True):
            view[slot] = 0.0 if feature < 0.0 else 1.0 if feature > 1.0 else feature


class ClusterFeatures:
    """Reads features from the columns of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._version = -1
        self._largest = [1.0, 1.0]
        self._kept: LruMap[tuple[_Requests, int], NodeFeatures] = LruMap(MAX_KEPT_REQUESTS)

    def of_nodes(self, pod: Pod, slots: int = 0) -> Features:
        """(slot, feature) of all slots in use, and of at least `slots`; a slot without a node has zeros.

        In memory the slots of a feature are next to each other: the array is a view of its transposed one.
        """
        requests = pod.template.requests
        return self._rows((requests.get("cpu", 0), requests.get("memory", 0)), slots).copy().T

    def of_cluster(self) -> Features:
        """(node, feature) of CLUSTER_FEATURES, for all nodes."""
        nodes = self._nodes
        return self._rows((0, 0), 0)[_CLUSTER_ROWS][:, nodes.alive[: nodes.high]].T

    def _rows(self, requests: _Requests, slots: int) -> Features:
        key = (requests, slots)
        kept = self._kept.get_or_make(key, lambda: NodeFeatures(self._nodes, *key))
        kept.refresh(None)
        return kept.rows

    def of_pod(self, pod: Pod, waited: float = 0.0) -> Features:
        self._follow_nodes()
        requests = pod.template.requests
        values = (
            requests.get("cpu", 0) / self._largest[0],
            requests.get("memory", 0) / self._largest[1],
            pod.priority / _MAX_PRIORITY,
            waited / _MAX_WAIT_SECONDS,
        )
        return np.array([0.0 if value < 0.0 else 1.0 if value > 1.0 else value for value in values], dtype=np.float32)

    def _follow_nodes(self) -> None:
        """Values that depend on node objects alone."""
        nodes, high = self._nodes, self._nodes.high
        if self._version == nodes.version:
            return
        self._version = nodes.version
        offered = [nodes.allocatable[name].array[:high] for name in _RESOURCES]
        self._largest = [float(max(amounts.max(initial=0), 1)) for amounts in offered]
