"""Never, not now, or waiting.

A pod for which every node has a lasting refusal never fits. A pod waits if it fits as soon as pods that are being
deleted are gone.
"""

from __future__ import annotations

from typing import NamedTuple

from stowplan.framework import Pod
from stowplan.framework.explanation import Verdict
from stowplan.insight.lasting import union
from stowplan.insight.matrix import FilterMatrix, Rejected
from stowplan.insight.slices import Slices
from stowplan.runtime.decide.diagnosis import Diagnosis

MAX_LEAVING_PODS = 1000
"""More pods that are being deleted than this are not taken away to see whether the pod fits after them."""

_PODS_PER_SLICE = 2500
_LEAVING_PODS_PER_SLICE = 50
"""So many pods are taken away together; the journal puts them back within the same slice."""


class OnTheWay(NamedTuple):
    """A node on which the pod fits once pods that are being deleted are gone."""

    node: str
    pods: tuple[str, ...]
    nodes: int


def verdict_of(matrix: FilterMatrix, on_the_way: OnTheWay | None, lasting: list[Rejected]) -> Verdict:
    """For a pod that no node is feasible for."""
    if on_the_way is not None:
        return "waiting"
    return "not-now" if (matrix.alive & ~union(matrix, lasting)).any() else "never"


def fits_after_deletions(matrix: FilterMatrix) -> Slices[OnTheWay | None]:
    """Whether the pod fits without the pods that are being deleted."""
    cluster = matrix.profile.cluster
    leaving: list[Pod] = []
    pods = list(cluster.pods.values())
    yield
    for start in range(0, len(pods), _PODS_PER_SLICE):
        part = pods[start : start + _PODS_PER_SLICE]
        leaving += [pod for pod in part if pod.terminating or pod.uid in cluster.evicted]
        yield
    if len(leaving) > MAX_LEAVING_PODS:
        return None
    leaving.sort(key=lambda pod: pod.node_name)
    for start in range(0, len(leaving), _LEAVING_PODS_PER_SLICE):
        found = _fits_without(matrix, leaving[start : start + _LEAVING_PODS_PER_SLICE])
        if found is not None:
            return found
        yield
    return None


def _fits_without(matrix: FilterMatrix, leaving: list[Pod]) -> OnTheWay | None:
    cluster = matrix.profile.cluster
    by_node: dict[str, list[Pod]] = {}
    with cluster.what_if() as journal:
        for pod in leaving:
            info = cluster.nodes.get(pod.node_name)
            if info is not None and pod.uid in info.pods:
                journal.remove(pod, info)
                by_node.setdefault(info.name, []).append(pod)
        feasible = Diagnosis(matrix.profile, matrix.pod, plain=True).run().feasible.tolist()
        names = [info.name for slot in feasible if (info := cluster.nodes.infos[slot]) is not None]
    if not names:
        return None
    name = min(names, key=lambda each: (each not in by_node, each))
    return OnTheWay(name, tuple(pod.key for pod in by_node.get(name, leaving)), len(names))
