"""NodeUnschedulable: cordoned nodes take only pods that tolerate it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from stowplan import api
from stowplan.api.tolerations import NO_SCHEDULE
from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Mask,
    NodeInfo,
    Nodes,
    Pod,
    PodTemplate,
    QueueingHint,
    Status,
    on,
)
from stowplan.plugins.base import InTreePlugin

NAME = "NodeUnschedulable"
CORDONED = Status(Code.UnschedulableAndUnresolvable, "node(s) were unschedulable", plugin=NAME)

_CORDON = api.Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
"""The taint that stands for spec.unschedulable, whether or not the node carries it."""


class NodeUnschedulable(InTreePlugin):
    """Concerned with the pods that do not tolerate the cordon."""

    name = NAME
    scope = "node"

    def concerns(self, template: PodTemplate) -> bool:
        return not _tolerates_cordon(template)

    def signature(self, template: PodTemplate) -> Hashable:
        return _tolerates_cordon(template)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return CORDONED if node.node.spec.unschedulable and not _tolerates_cordon(pod.template) else None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        if not _tolerates_cordon(pod.template):
            yield self.nodes.unschedulable[nodes.index], CORDONED

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (
            on(EventResource.Node, Action.Add | Action.UpdateNodeTaint, _after_node_event),
            on(EventResource.Pod, Action.UpdatePodToleration, _after_toleration_event),
        )


def _tolerates_cordon(template: PodTemplate) -> bool:
    return template.derive(NAME, lambda t: api.tolerated(_CORDON, t.spec.tolerations))


def _after_node_event(pod: Pod, old: api.Node | None, new: api.Node | None) -> QueueingHint:
    """A node helps when it comes without a cordon, or loses its own."""
    open_now = new is not None and not new.spec.unschedulable
    closed_before = old is None or old.spec.unschedulable
    return QueueingHint.Queue if open_now and closed_before else QueueingHint.QueueSkip


def _after_toleration_event(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
    helps = new is not None and new.uid == pod.uid and _tolerates_cordon(new.template)
    return QueueingHint.Queue if helps else QueueingHint.QueueSkip
