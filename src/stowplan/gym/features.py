"""Features of nodes and pods: the same code for training and for the plugin that runs the policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import Cluster
from stowplan.framework import Pod

Features = NDArray[np.float32]

NODE_FEATURES = ("cpu size", "cpu free", "cpu left", "memory size", "memory free", "memory left", "pods free")
"""Size: relative to the largest node. Free: share of the node. Left: share of the node once the pod is on it."""
POD_FEATURES = ("cpu", "memory", "priority", "waited")
"""Requests relative to the largest node; priority / 1000; waited seconds / 3600; all at most 1."""

_RESOURCES = ("cpu", "memory")
_MAX_PRIORITY = 1000.0
_MAX_WAIT_SECONDS = 3600.0


class ClusterFeatures:
    """Reads features from the columns of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._version = -1
        self._largest = [1.0, 1.0]
        self._sizes: list[NDArray[np.float64]] = []
        self._factors: list[NDArray[np.float64]] = []

    def of_nodes(self, pod: Pod, slots: int = 0) -> Features:
        """(slot, feature) of all slots in use, and of so many at least; a slot without a node has zeros.

        In memory the slots of a feature are next to each other: the array is a view of its transposed one.
        """
        self._follow_nodes()
        nodes, high = self._nodes, self._nodes.high
        features = np.zeros((len(NODE_FEATURES), max(slots, high)), dtype=np.float32)
        rows = features[:, :high]
        for number, resource in enumerate(_RESOURCES):
            left = nodes.allocatable[resource].array[:high] - nodes.requested[resource].array[:high]
            factor = self._factors[number]
            rows[3 * number] = self._sizes[number]
            np.multiply(left, factor, out=rows[3 * number + 1], casting="unsafe")
            left -= pod.template.requests.get(resource, 0)
            np.multiply(left, factor, out=rows[3 * number + 2], casting="unsafe")
        free = nodes.allowed_pods.array[:high] - nodes.pod_count.array[:high]
        np.multiply(free, self._factors[2], out=rows[6], casting="unsafe")
        np.maximum(rows, 0, out=rows)
        np.minimum(rows, 1, out=rows)
        return features.T

    def of_pod(self, pod: Pod, waited: float = 0.0) -> Features:
        self._follow_nodes()
        requests = pod.template.requests
        values = (
            requests.get("cpu", 0) / self._largest[0],
            requests.get("memory", 0) / self._largest[1],
            pod.priority / _MAX_PRIORITY,
            waited / _MAX_WAIT_SECONDS,
        )
        return np.array([min(max(value, 0.0), 1.0) for value in values], dtype=np.float32)

    def _follow_nodes(self) -> None:
        """Values that depend on node objects alone."""
        nodes, high = self._nodes, self._nodes.high
        if self._version == nodes.version:
            return
        self._version = nodes.version
        offered = [nodes.allocatable[name].array[:high] for name in _RESOURCES]
        self._largest = [float(max(amounts.max(initial=0), 1)) for amounts in offered]
        self._sizes = [amounts / most for amounts, most in zip(offered, self._largest, strict=True)]
        self._factors = [1 / np.maximum(amounts, 1) for amounts in (*offered, nodes.allowed_pods.array[:high])]
