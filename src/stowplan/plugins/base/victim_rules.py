"""Rules of PostFilter plugins that evict other pods than DefaultPreemption does.

Upstream: pkg/scheduler/framework/preemption/preemption.go (Interface)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from stowplan.framework import Code, CycleState, NodeInfo, Pod, PostFilterResult, Status


class VictimRules:
    """Which pods a preemptor may evict, for one PostFilter call. Without rules, those of DefaultPreemption apply."""

    def potential_victims(self, pod: Pod, info: NodeInfo) -> Iterable[Pod] | Status:
        """The pods on the node that may be evicted, in any order; or an error."""
        return [other for other in info.pods.values() if other.priority < pod.priority]

    def refusal(self, state: CycleState, pod: Pod, *, reprieves: bool) -> Status | None:
        """Why the pod may not be placed with the pods that are left in the what-if, besides the filters. `reprieves` is
        False while all potential victims are removed, and True when a victim is back to be reprieved."""
        return None

    def no_victims(self, pod: Pod, info: NodeInfo) -> Status:
        """The status of a node without potential victims."""
        text = f"No victims found on node {info.name} for preemptor pod {pod.name}"
        return Status(Code.UnschedulableAndUnresolvable, text)

    def is_awaited(self, pod: Pod, other: Pod) -> bool:
        """Whether a terminating pod on the nominated node makes room for the preemptor, which waits for it then."""
        return other.priority < pod.priority


class InTreeHandle(Protocol):
    """Methods of the handle that only plugins of Stowplan call."""

    def nominations(self) -> Mapping[str, Mapping[str, Pod]]:
        """All nominated pods, by node name and uid."""
        ...

    def is_pending(self, pod: Pod) -> bool:
        """Whether the pod exists and has no node yet. Without a running scheduler, no other pod is known to."""
        ...

    def pending_pods(self) -> Iterable[Pod]:
        """All pods without a node, gated ones included. Empty without a running scheduler."""
        ...

    def is_deciding(self) -> bool:
        """Whether the scheduler applies the decision under way; False for explanations and simulations of changes."""
        ...

    def preempt_by(
        self,
        state: CycleState,
        pod: Pod,
        statuses: Mapping[str, Status],
        limit: tuple[int, int] | None,
        rules: VictimRules | None,
    ) -> PostFilterResult | str:
        """As `Handle.preempt`. Without a limit, all nodes are candidates."""
        ...
