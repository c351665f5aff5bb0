"""DefaultPreemption: evicts pods of lower priority to make room.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan import framework as fwk
from stowplan.config.feature_gates import TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.plugins.base import InTreePlugin

NAME = "DefaultPreemption"
WAITING = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable, "waiting for the preemption for this pod to be finished", plugin=NAME
)


def _after_pod_delete(pod: fwk.Pod, old: object, new: object) -> fwk.QueueingHint:
    """The deletion of victims wakes the pod through the plugins that rejected it."""
    return fwk.QueueingHint.QueueSkip


def _rejection(why: str) -> fwk.Status:
    return fwk.Status(fwk.Code.Unschedulable, f"preemption: {why}", plugin=NAME)


class DefaultPreemption(InTreePlugin):
    """Nominates the node with the least costly evictions. The search is in `runtime.preemption`: it needs all
    filters."""

    name = NAME
    reads = ("PodDisruptionBudget",)

    def pre_enqueue(self, pod: fwk.Pod) -> fwk.Status | None:
        return WAITING if self.handle.is_preempting(pod) else None

    def post_filter(
        self, state: fwk.CycleState, pod: fwk.Pod, statuses: Mapping[str, fwk.Status]
    ) -> fwk.Status | fwk.PostFilterResult | None:
        if pod.template.spec.scheduling_group is not None and (refusal := self._refuse_member(pod)):
            return _rejection(refusal)
        limit = (self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute)
        outcome = self.handle.preempt(state, pod, statuses, limit)
        if isinstance(outcome, str):
            return _rejection(outcome)
        if outcome.status is not None:
            return fwk.PostFilterResult(outcome.nominated_node_name, _rejection(outcome.status.message))
        return outcome

    def _refuse_member(self, pod: fwk.Pod) -> str:
        """Why a member of a pod group may not preempt for itself; empty if it may."""
        release = self.cluster.release
        if release.has(TOPOLOGY_AWARE):
            rules = self.cluster.pod_groups.rules_of(pod)
            if rules is None:
                return "pod group for pod not found"
            if rules.constrained:
                return "not eligible due to placement-based pod group scheduling limitation"
        return "not eligible due to workload aware preemption enabled" if release.has(WORKLOAD_PREEMPTION) else ""

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (fwk.on(fwk.EventResource.Pod, fwk.Action.Delete, _after_pod_delete),)
