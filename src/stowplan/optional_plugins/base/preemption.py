"""PostFilter plugins that take the place of DefaultPreemption and select victims by rules of their own.

Upstream: pkg/scheduler/framework/preemption/preemption.go (Evaluator)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, cast

from stowplan import framework as fwk
from stowplan.plugins.base import InTreeHandle, InTreePlugin, VictimRules


def _after_pod_delete(pod: fwk.Pod, old: object, new: object) -> fwk.QueueingHint:
    """The deletion of victims wakes the pod through the plugins that rejected it."""
    return fwk.QueueingHint.QueueSkip


class PreemptionPlugin(InTreePlugin):
    """Nominates the node with the least costly evictions. A subclass overrides `victim_rules`."""

    reads: ClassVar[tuple[str, ...]] = ("PodDisruptionBudget",)

    def pre_enqueue(self, pod: fwk.Pod) -> fwk.Status | None:
        if not self.handle.is_preempting(pod):
            return None
        text = "waiting for the preemption for this pod to be finished"
        return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, text, plugin=self.name)

    def post_filter(
        self, state: fwk.CycleState, pod: fwk.Pod, statuses: Mapping[str, fwk.Status]
    ) -> fwk.Status | fwk.PostFilterResult | None:
        handle = cast(InTreeHandle, self.handle)
        outcome = handle.preempt_by(state, pod, statuses, self.candidate_limit(), self.victim_rules(state, pod))
        if isinstance(outcome, str):
            return self._rejection(outcome)
        if outcome.status is not None:
            return fwk.PostFilterResult(outcome.nominated_node_name, self._rejection(outcome.status.message))
        return outcome

    def candidate_limit(self) -> tuple[int, int] | None:
        """(percentage, absolute number) of candidate nodes that are enough to choose from; None: all nodes."""
        return None

    def victim_rules(self, state: fwk.CycleState, pod: fwk.Pod) -> VictimRules:
        raise NotImplementedError

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (fwk.on(fwk.EventResource.Pod, fwk.Action.Delete, _after_pod_delete),)

    def _rejection(self, why: str) -> fwk.Status:
        return fwk.Status(fwk.Code.Unschedulable, why, plugin=self.name)
