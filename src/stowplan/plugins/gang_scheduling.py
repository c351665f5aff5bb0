"""GangScheduling: members of a gang wait until enough of them exist, and are bound once enough of them have a node.

Upstream: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import api
from stowplan import framework as fwk
from stowplan.framework.pod_group import group_name
from stowplan.plugins.base import InTreePlugin

NAME = "GangScheduling"
PERMIT_TIMEOUT_SECONDS = 300.0

_TOO_FEW = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable,
    "waiting for minCount pods from a gang to appear in scheduling queue",
    plugin=NAME,
)
GANG_WAIT = fwk.wait(PERMIT_TIMEOUT_SECONDS, "waiting for minCount pods from a gang to be scheduled")
"""Permit of a member whose gang is incomplete."""


def is_short(group: fwk.PodGroupState, rules: api.PodGroupRules) -> bool:
    """Whether fewer members than `minCount` have a node."""
    return rules.min_count is not None and group.scheduled_count < rules.min_count


def _after_pod_add(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    """A further member may complete the gang."""
    if new is not None and new.namespace == pod.namespace and group_name(pod) == group_name(new) != "":
        return fwk.QueueingHint.Queue
    return fwk.QueueingHint.QueueSkip


def _after_group_add(pod: fwk.Pod, old: api.PodGroup | None, new: api.PodGroup | None) -> fwk.QueueingHint:
    """The pod's group came into existence."""
    if new is not None and (new.metadata.namespace, new.metadata.name) == (pod.namespace, group_name(pod)):
        return fwk.QueueingHint.Queue
    return fwk.QueueingHint.QueueSkip


class GangScheduling(InTreePlugin):
    """Enforces `minCount` of gangs, before the queue and before binding."""

    name = NAME
    reads = ("PodGroup",)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return template.spec.scheduling_group is not None

    def pre_enqueue(self, pod: fwk.Pod) -> fwk.Status | None:
        name = group_name(pod)
        rules = self.cluster.pod_groups.rules(pod.namespace, name)
        if rules is None:
            text = f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, text, plugin=NAME)
        if rules.min_count is None:
            return None
        state = self.cluster.pod_groups.of(pod)
        if state is None:
            return fwk.error(f"pod group state not found for pod group {pod.namespace}/{name}")
        return _TOO_FEW if len(state.all) < rules.min_count else None

    def permit(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        name = group_name(pod)
        rules = self.cluster.pod_groups.rules(pod.namespace, name)
        if rules is None:
            text = f'podgroup.scheduling.k8s.io "{name}" not found'
            return fwk.error(f"failed to get podGroup {pod.namespace}/{name}: {text}")
        if rules.min_count is None:
            return None
        group = self.cluster.pod_groups.of(pod)
        if group is None:
            return fwk.error(f"pod group state not found for pod group {pod.namespace}/{name}")
        in_group_cycle = state.get(fwk.POD_GROUP_CYCLE) is not None
        if is_short(group, rules):
            # kube-scheduler activates the other members here. A pod group cycle tries all of them, so none is left.
            return GANG_WAIT
        if not in_group_cycle:
            for uid in group.assumed:
                waiting = self.handle.waiting_pod(uid)
                if waiting is not None:
                    waiting.allow(NAME)
        return None

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Pod, fwk.Action.Add, _after_pod_add),
            fwk.on(fwk.EventResource.PodGroup, fwk.Action.Add, _after_group_add),
        )
