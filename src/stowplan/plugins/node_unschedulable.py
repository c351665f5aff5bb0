"""NodeUnschedulable: cordoned nodes accept only pods that tolerate the cordon.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.tolerations import NO_SCHEDULE
from stowplan.plugins.base import UNSCHEDULABLE_TAINT, InTreePlugin, cordoned

NAME = "NodeUnschedulable"
CORDONED = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, "node(s) were unschedulable", plugin=NAME)

_UNSCHEDULABLE_TAINT = api.Taint(key=UNSCHEDULABLE_TAINT, effect=NO_SCHEDULE)
"""The taint for spec.unschedulable, whether or not the node has it."""


class NodeUnschedulable(InTreePlugin):
    """Concerns the pods that do not tolerate the taint."""

    name = NAME
    scope = "node"

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return not _tolerates_cordon(template)

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return _tolerates_cordon(template)

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        return CORDONED if node.node.spec.unschedulable and not _tolerates_cordon(pod.template) else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        if not _tolerates_cordon(pod.template):
            yield self.nodes.unschedulable[nodes.index], CORDONED

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        yield cordoned(node)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement:
        return fwk.Requirement("not cordoned", "cordoned" if node.unschedulable else "")

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeTaint, _after_node_event),
            fwk.on(fwk.EventResource.Pod, fwk.Action.UpdatePodToleration, _after_toleration_event),
        )


def _tolerates_cordon(template: fwk.PodTemplate) -> bool:
    return template.derive(NAME, lambda t: api.tolerated(_UNSCHEDULABLE_TAINT, t.spec.tolerations))


def _after_node_event(pod: fwk.Pod, old: api.Node | None, new: api.Node | None) -> fwk.QueueingHint:
    """Queue if a node without cordon is added, or if a node is uncordoned."""
    open_now = new is not None and not new.spec.unschedulable
    closed_before = old is None or old.spec.unschedulable
    return fwk.QueueingHint.Queue if open_now and closed_before else fwk.QueueingHint.QueueSkip


def _after_toleration_event(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    helps = new is not None and new.uid == pod.uid and _tolerates_cordon(new.template)
    return fwk.QueueingHint.Queue if helps else fwk.QueueingHint.QueueSkip
