"""Controller of DaemonSets: one pod for every node that the template allows.

Upstream: pkg/controller/daemon/daemon_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.api.node_selectors import NODE_NAME_FIELD
from stowplan.api.selectors import IN, selector_from_map
from stowplan.api.tolerations import NO_EXECUTE, NO_SCHEDULE
from stowplan.simulator.identity import template_hash
from stowplan.simulator.workloads.workload_controller import WorkloadController

_REVISION_LABEL = "controller-revision-hash"
_TEMPLATE_GENERATION_LABEL = "pod-template-generation"
_TEMPLATE_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"

_NETWORK_UNAVAILABLE = ("network-unavailable", NO_SCHEDULE)
_ALWAYS_TOLERATED = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)


class DaemonSetController(WorkloadController):
    """Creates the pods of a DaemonSet; node affinity by name assigns each to its node."""

    kind = api.DaemonSet
    one_per_node = rolls_out = waits_for_deletion = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._served: dict[str, dict[str, str]] = {}
        """By uid of the DaemonSet, the pod's name by node."""

    def saw(self, pod: api.Pod, owner: api.DaemonSet) -> None:
        self._nodes_of(owner)[_node_of(pod)] = pod.metadata.name

    def lost(self, pod: api.Pod, owner: api.DaemonSet) -> None:
        served = self._nodes_of(owner)
        if served.get(_node_of(pod)) == pod.metadata.name:
            del served[_node_of(pod)]

    def adapted(self, owner: api.DaemonSet, template: api.PodTemplateSpec) -> api.PodTemplateSpec:
        marks = {
            _REVISION_LABEL: template_hash(template),
            _TEMPLATE_GENERATION_LABEL: owner.metadata.annotations.get(_TEMPLATE_GENERATION_ANNOTATION, "1"),
        }
        metadata = replace(template.metadata, labels={**template.metadata.labels, **marks})
        spec = replace(template.spec, tolerations=daemon_tolerations(template.spec))
        return replace(template, metadata=metadata, spec=spec)

    def lacking(self, owner: api.DaemonSet, nodes: Iterable[api.Node] | None = None) -> Iterator[api.Pod]:
        """The pods that these nodes lack, by default all nodes."""
        served = self._nodes_of(owner)
        among = self.api_server.all(api.Node) if nodes is None else nodes
        unserved = [node for node in among if node.metadata.name not in served]
        if not unserved:
            return
        pods = self.pod_factory(owner, owner.spec.template)
        is_suitable = Suitability(pods.spec)
        for node in filter(is_suitable, unserved):
            name = node.metadata.name
            pod = pods.pod(spec=replace(pods.spec, affinity=_only_on(name, pods.spec.affinity)))
            served[name] = pod.metadata.name
            yield pod

    def pod_for(self, node_name: str, owner: api.DaemonSet) -> api.Pod | None:
        """The DaemonSet's pod for a node, whether or not it is bound yet."""
        name = self._nodes_of(owner).get(node_name)
        return None if name is None else self.api_server.get(api.Pod, name, owner.metadata.namespace)

    def replaces(self, pod: api.Pod) -> bool:
        node = self.api_server.get(api.Node, _node_of(pod))
        return node is not None and Suitability(pod.spec)(node)

    def waiting(self, owner: api.DaemonSet) -> str | None:
        return None if self._nodes_of(owner) else "there is no node for it, so it has no pods"

    def _nodes_of(self, owner: api.DaemonSet) -> dict[str, str]:
        uid = owner.metadata.uid
        if uid not in self._served:
            self._served[uid] = {_node_of(pod): pod.metadata.name for pod in self.pods_of(owner)}
        return self._served[uid]


class Suitability:
    """Whether a node gets a pod with this spec."""

    def __init__(self, spec: api.PodSpec) -> None:
        self._spec = spec
        self._labels = selector_from_map(spec.node_selector) if spec.node_selector else None
        required = _required(spec.affinity)
        self._affinity = None if required is None else api.compile_node_selector(required)

    def __call__(self, node: api.Node) -> bool:
        name, labels = node.metadata.name, node.metadata.labels
        if self._spec.node_name not in ("", name):
            return False
        if self._labels is not None and not self._labels.matches(labels):
            return False
        if self._affinity is not None and not self._affinity.matches(labels, name):
            return False
        return api.find_untolerated(node.spec.taints, self._spec.tolerations) is None


def daemon_tolerations(spec: api.PodSpec) -> tuple[api.Toleration, ...]:
    """The template's tolerations and those that the controller adds, most of them for node conditions."""
    given = {_taint(toleration): toleration for toleration in spec.tolerations}
    for key, effect in (*_ALWAYS_TOLERATED, *([_NETWORK_UNAVAILABLE] if spec.host_network else [])):
        toleration = api.Toleration(key=f"node.kubernetes.io/{key}", operator="Exists", effect=effect)
        given[_taint(toleration)] = toleration
    return tuple(given.values())


def _taint(toleration: api.Toleration) -> tuple[str, ...]:
    """Identity of a toleration, apart from its tolerationSeconds."""
    return toleration.key, toleration.operator, toleration.value, toleration.effect


def _required(affinity: api.Affinity | None) -> api.NodeSelector | None:
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def _only_on(node_name: str, affinity: api.Affinity | None) -> api.Affinity:
    """The affinity with its required node terms replaced by the node's name."""
    field = api.NodeSelectorRequirement(key=NODE_NAME_FIELD, operator=IN, values=(node_name,))
    selector = api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_fields=(field,)),))
    affinity = affinity or api.Affinity()
    nodes = affinity.node_affinity or api.NodeAffinity()
    nodes = replace(nodes, required_during_scheduling_ignored_during_execution=selector)
    return replace(affinity, node_affinity=nodes)


def _node_of(pod: api.Pod) -> str:
    """The node of a daemon pod, whether or not it is bound yet."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = _required(pod.spec.affinity)
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields:
            if field.key == NODE_NAME_FIELD and field.values:
                return field.values[0]
    return ""
