"""Finds the pod or node that a question is about; errors name near matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from stowplan import api
from stowplan.api.near_names import near_names
from stowplan.api.pod import FINISHED_PHASES
from stowplan.api.selector_words import listed
from stowplan.cache import Cluster
from stowplan.errors import StowplanError
from stowplan.framework import NodeInfo, Pod
from stowplan.insight.workloads import WorkloadReference, belongs_to, workload_of, workload_reference

_MAX_NEAR_NAMES = 3
_MAX_COMPARED_NAMES = 2000
"""The search for near names delays a running scheduler."""


class PodNotFoundError(StowplanError):
    """No pod that can be explained has the name."""


class NodeNotFoundError(StowplanError):
    """No node has the name."""


class FoundPod(NamedTuple):
    """A pod that a question is about."""

    pod: Pod
    placed: bool


def find_node(cluster: Cluster, name: str) -> NodeInfo:
    """The node; the error names near matches, and pods that still refer to a node that is gone."""
    info = cluster.nodes.get(name)
    if info is not None:
        return info
    names = list(cluster.nodes.slot_of)
    if not names:
        raise NodeNotFoundError(f"node {name} is not known: there are no nodes")
    pods = [pod.key for pod in cluster.pods.values() if pod.node_name == name]
    if pods:
        raise NodeNotFoundError(f"node {name} is gone; {pods[0]} still refers to it")
    raise NodeNotFoundError(f"node {name} is not known{_near(name, names)}")


class PodFinder:
    """Pods by namespace and name, or by uid."""

    def __init__(self, cluster: Cluster, pending: Mapping[str, Any], others: Iterable[api.Pod]) -> None:
        """`pending` by uid; its values have `pod`."""
        self._cluster = cluster
        self._pending = pending
        self._others = others

    def find(self, reference: str, namespace: str) -> FoundPod:
        """The pod named `namespace/name`, `name` in the namespace, or by its uid."""
        space, _, name = reference.removeprefix("pod/").removeprefix("Pod/").rpartition("/")
        space = space or namespace
        found = self._by_uid(reference) or next(
            (pod for pod in self._pods() if pod.name == name and pod.namespace == space), None
        )
        if found is not None:
            return self._known(self._by_uid(found.uid) or found)
        others = list(self._others)
        for other in others:
            metadata = other.metadata
            if metadata.uid == reference or (metadata.name == name and metadata.namespace == space):
                return self._other(other)
        workload = workload_reference(reference, namespace)
        if workload is not None:
            pods = sorted(pod.key for pod in self._pods() if belongs_to(pod, workload))
            if pods:
                raise PodNotFoundError(f"{reference}: a pod is expected, such as {pods[0]}")
            raise PodNotFoundError(no_pods_of(workload, self._pods()))
        raise PodNotFoundError(self._not_found(space, name, [other.metadata for other in others]))

    def _by_uid(self, uid: str) -> Pod | None:
        """A pod that is assumed on a node is in both places."""
        found = self._cluster.pods.get(uid)
        if found is None and uid in self._pending:
            found = self._pending[uid].pod
        return found

    def _pods(self) -> Iterator[Pod]:
        yield from (entry.pod for entry in self._pending.values())
        yield from self._cluster.pods.values()

    def _known(self, pod: Pod) -> FoundPod:
        if pod.node_name and self._cluster.nodes.get(pod.node_name) is None:
            raise PodNotFoundError(f"pod {pod.key} is on node {pod.node_name}, which is gone")
        return FoundPod(pod, placed=bool(pod.node_name))

    def _other(self, pod: api.Pod) -> FoundPod:
        """A pod that the scheduler does not keep."""
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if pod.status.phase in FINISHED_PHASES:
            where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
            raise PodNotFoundError(f"pod {key} has finished{where} ({pod.status.phase}); it needs no node any more")
        if pod.spec.node_name:
            return self._known(self._cluster.pod(pod))
        return FoundPod(self._cluster.pod(pod), placed=False)

    def _not_found(self, namespace: str, name: str, others: list[api.ObjectMeta]) -> str:
        """The error, with other namespaces that have the name, a workload of the name, or near names."""
        what = f"pod {namespace}/{name} is not known"
        pods = list(self._pods())
        known = [(pod.namespace, pod.name) for pod in pods] + [(each.namespace, each.name) for each in others]
        spaces = sorted({space for space, each in known if each == name})
        if len(spaces) == 1:
            return f"{what}; there is one in namespace {spaces[0]}: {spaces[0]}/{name}"
        if spaces:
            return f"{what}; namespaces {listed(spaces)} have one: name the namespace with -n"
        workloads = {workload_of(pod) for pod in pods if pod.namespace == namespace}
        same = next((each for each in workloads if each is not None and each.name == name), None)
        if same is not None:
            return f"{what}; {same} has this name"
        names = [each for space, each in known if space == namespace]
        if not names:
            where = listed(sorted({space for space, _ in known})[:_MAX_NEAR_NAMES], "or")
            return (
                f"{what}; namespace {namespace} has no pods: name one with -n, such as {where}"
                if known
                else (f"{what}: there are no pods")
            )
        return what + _near(name, names)


def no_pods_of(reference: WorkloadReference, pods: Iterable[Pod]) -> str:
    """The error about a workload without pods, with other namespaces that have one of this name, or near names."""
    workload = reference.workload
    what = f"no pod belongs to {workload} in namespace {reference.namespace}"
    known = {(pod.namespace, each) for pod in pods if (each := workload_of(pod)) is not None}
    spaces = sorted(space for space, each in known if each == workload)
    if spaces:
        return f"{what}; there is one in namespace {listed(spaces, 'or')}"
    here = sorted(f"{each}" for space, each in known if space == reference.namespace)
    return what + _near(f"{workload}", here)


def _near(name: str, names: Iterable[str]) -> str:
    known = dict.fromkeys(names)
    near = near_names(name, islice(known, _MAX_COMPARED_NAMES)) or sorted(
        each for each in known if each.startswith(name)
    )
    return f"; near names: {', '.join(near[:_MAX_NEAR_NAMES])}" if near else ""
