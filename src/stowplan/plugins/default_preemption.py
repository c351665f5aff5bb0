"""DefaultPreemption: evict pods of lower priority to make room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Pod,
    PostFilterResult,
    QueueingHint,
    Status,
    on,
)
from stowplan.plugins.base import InTreePlugin

NAME = "DefaultPreemption"
WAITING = Status(
    Code.UnschedulableAndUnresolvable, "waiting for the preemption for this pod to be finished", plugin=NAME
)


def _not_by_itself(pod: Pod, old: object, new: object) -> QueueingHint:
    """Victims that are gone wake the pod through the plugins that had rejected it."""
    return QueueingHint.QueueSkip


def _rejection(why: str) -> Status:
    return Status(Code.Unschedulable, f"preemption: {why}", plugin=NAME)


class DefaultPreemption(InTreePlugin):
    """Nominates the node where evictions cost least. The search itself is the runtime's: it needs all filters."""

    name = NAME
    reads = ("PodDisruptionBudget",)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return WAITING if self.handle.is_preempting(pod) else None

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> Status | PostFilterResult | None:
        limit = (self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute)
        outcome = self.handle.preempt(state, pod, statuses, limit)
        if isinstance(outcome, str):
            return _rejection(outcome)
        if outcome.status is not None:
            return PostFilterResult(outcome.nominated_node_name, _rejection(outcome.status.message))
        return outcome

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (on(EventResource.Pod, Action.Delete, _not_by_itself),)
