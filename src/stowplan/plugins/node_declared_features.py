"""NodeDeclaredFeatures: pods that need a kubelet feature run on nodes that declare it.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin

NAME = "NodeDeclaredFeatures"
MISSING = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, "node(s) didn't match Pod's required features", plugin=NAME)


def _restarts_all_containers(spec: api.PodSpec) -> bool:
    containers = (*spec.containers, *spec.init_containers)
    return any(rule.action == "RestartAllContainers" for c in containers for rule in c.restart_policy_rules)


def _shares_host_network_in_user_namespace(spec: api.PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


RULES: Final[dict[str, Callable[[api.PodSpec], bool]]] = {
    "RestartAllContainersOnContainerExits": _restarts_all_containers,
    "UserNamespacesHostNetworkSupport": _shares_host_network_in_user_namespace,
}
"""The pods that need a feature, by feature. Other features that kubelets declare concern updates of running pods
only."""


class NodeDeclaredFeatures(InTreePlugin):
    """Concerns only pods that need a feature."""

    name = NAME
    scope = "node"

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(_required(template))

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return _required(template)

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        return None if _required(pod.template) else fwk.skip()

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        return None if _required(pod.template) <= _recognised(node.node.status.declared_features) else MISSING

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        required = _required(pod.template)
        lacking = np.zeros(len(nodes), dtype=np.bool_)
        for position, info in nodes.infos():
            lacking[position] = not required <= _recognised(info.node.status.declared_features)
        yield lacking, MISSING

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        declared = node.node.status.declared_features
        missing = sorted(_required(pod.template) - _recognised(declared))
        version = node.node.status.node_info.kubelet_version
        whose = f"the node's ({version})" if version else "the node's"
        unsorted = [name for name in missing if name in declared]
        notes = [f"{name} is in the node's list, but out of order, and is not found there." for name in unsorted]
        yield fwk.Refusal(
            id="features.missing",
            text=f"needs a kubelet that declares {' and '.join(missing)}; {whose} does not",
            wanted=f"declares {' and '.join(sorted(_required(pod.template)))}",
            there=version,
            lasting=True,
            facts={"missing": missing, "kubeletVersion": version},
            notes=tuple(notes),
        )

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        required = _required(pod.template)
        declared = sorted(required & _recognised(node.node.status.declared_features))
        return fwk.Requirement(f"declares {' and '.join(sorted(required))}", ", ".join(declared)) if required else None

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeDeclaredFeature, _after_node_event),
            fwk.on(fwk.EventResource.Pod, fwk.Action.Update, _after_pod_update),
        )


def _required(template: fwk.PodTemplate) -> frozenset[str]:
    return template.derive(NAME, lambda t: frozenset(name for name, needs in RULES.items() if needs(t.spec)))


@lru_cache(1024)
def _recognised(declared: tuple[str, ...]) -> frozenset[str]:
    """The features that kube-scheduler finds in the list. It expects a sorted list and misses features that are out of
    order."""
    seen = []
    highest = ""
    for name in declared:
        if name > highest:
            highest = name
            seen.append(name)
    return frozenset(seen)


def _after_node_event(pod: fwk.Pod, old: api.Node | None, new: api.Node | None) -> fwk.QueueingHint:
    unchanged = old is not None and new is not None and old.status.declared_features == new.status.declared_features
    return fwk.QueueingHint.QueueSkip if unchanged else fwk.QueueingHint.Queue


def _after_pod_update(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    if old is None or new is None or new.uid != pod.uid:
        return fwk.QueueingHint.QueueSkip
    same = _required(old.template) == _required(new.template)
    return fwk.QueueingHint.QueueSkip if same else fwk.QueueingHint.Queue
