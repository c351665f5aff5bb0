"""The victims on one node: remove all potential victims, then reprieve those with which the pod still fits.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from stowplan.framework import Code, CycleState, NodeInfo, Pod, Status
from stowplan.plugins.base import VictimRules
from stowplan.runtime.decide.filtering import nominated_rivals, run_filters
from stowplan.runtime.decide.what_if import WhatIf
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.victims import by_importance

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile

NO_VICTIMS = Status(Code.UnschedulableAndUnresolvable, "No preemption victims found for incoming pod")


class PreemptionCandidate(NamedTuple):
    """A node on which the pod fits without the victims, which are listed most important first."""

    info: NodeInfo
    victims: tuple[Pod, ...]
    violations: int
    """The number of victims whose eviction violates a PodDisruptionBudget."""


class PreemptionCandidates(Sequence[PreemptionCandidate]):
    """Candidates that are made on access."""

    def __init__(self, keys: Sequence[int], make: Callable[[int], PreemptionCandidate]) -> None:
        self._keys = keys
        self._make = make

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, position: int) -> PreemptionCandidate: ...

    @overload
    def __getitem__(self, position: slice) -> PreemptionCandidates: ...

    def __getitem__(self, position: int | slice) -> PreemptionCandidate | PreemptionCandidates:
        if isinstance(position, slice):
            return PreemptionCandidates(self._keys[position], self._make)
        return self._make(self._keys[position])


def dry_run(
    profile: Profile, state: CycleState, pod: Pod, info: NodeInfo, rules: VictimRules | None = None
) -> PreemptionCandidate | Status:
    """The victims on one node, or the status of a node where evictions do not help. Without rules, those of
    DefaultPreemption apply."""
    if rules is None:
        potential = by_importance(info.pods.values(), pod.priority)
    else:
        found = rules.potential_victims(pod, info)
        if isinstance(found, Status):
            raise CycleError(found.message, found.plugin)
        potential = by_importance(found)
    if not potential:
        return NO_VICTIMS if rules is None else rules.no_victims(pod, info)
    with WhatIf(profile, state, pod) as what_if:
        for other in potential:
            what_if.remove(other, info)
        status = _fits(profile, what_if, pod, info, rules, reprieves=False)
        if status is not None:
            return status
        pods, protected = profile.budgets.protected_first(potential)
        victims = []
        violations = 0
        for place, other in enumerate(pods):
            what_if.add(other, info)
            if _fits(profile, what_if, pod, info, rules, reprieves=True) is not None:
                what_if.remove(other, info)
                victims.append(other)
                violations += place < protected
    if not victims:
        raise CycleError(f'expected at least one victim pod on node "{info.name}"')
    return PreemptionCandidate(info, in_order(victims, 0 < protected < len(pods)), violations)


def in_order(victims: list[Pod], of_both_groups: bool) -> tuple[Pod, ...]:
    """Victims by importance. Sorted again only if some are protected and some are not, because Go's sort is not stable
    and sorting twice can change the order."""
    return tuple(by_importance(victims) if of_both_groups else victims)


def _fits(
    profile: Profile, what_if: WhatIf, pod: Pod, info: NodeInfo, rules: VictimRules | None, *, reprieves: bool
) -> Status | None:
    """The filters on the node in the what-if, with and without the pods nominated to it; then the rules."""
    nominated = nominated_rivals(profile, pod, info)
    if nominated:
        with WhatIf(profile, what_if.state, pod) as with_nominated:
            for other in nominated:
                with_nominated.add(other, info)
            status = run_filters(profile.filters, with_nominated.state, pod, info)
        if status is not None:
            return status
    status = run_filters(profile.filters, what_if.state, pod, info)
    return status if status is not None or rules is None else rules.refusal(what_if.state, pod, reprieves=reprieves)
