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

_MAX_PRIORITY = 1000.0
_MAX_WAIT_SECONDS = 3600.0


class ClusterFeatures:
    """Reads features from the columns of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes

    def of_nodes(self, pod: Pod) -> Features:
        """(slot, feature) of all slots in use; a slot without a node has zeros."""
        nodes, high = self._nodes, self._nodes.high
        features = np.zeros((high, len(NODE_FEATURES)), dtype=np.float32)
        for number, resource in enumerate(("cpu", "memory")):
            offered = nodes.allocatable[resource].array[:high]
            left = offered - nodes.requested[resource].array[:high]
            divisor = np.maximum(offered, 1)
            features[:, 3 * number] = offered / max(offered.max(initial=0), 1)
            features[:, 3 * number + 1] = left / divisor
            features[:, 3 * number + 2] = (left - pod.template.requests.get(resource, 0)) / divisor
        allowed = nodes.allowed_pods.array[:high]
        features[:, 6] = 1 - nodes.pod_count.array[:high] / np.maximum(allowed, 1)
        return np.clip(features, 0, 1, out=features)

    def of_pod(self, pod: Pod, waited: float = 0.0) -> Features:
        requests, nodes = pod.template.requests, self._nodes
        largest = [max(nodes.allocatable[name].array[: nodes.high].max(initial=0), 1) for name in ("cpu", "memory")]
        values = (
            requests.get("cpu", 0) / largest[0],
            requests.get("memory", 0) / largest[1],
            pod.priority / _MAX_PRIORITY,
            waited / _MAX_WAIT_SECONDS,
        )
        return np.clip(np.array(values, dtype=np.float32), 0, 1)
