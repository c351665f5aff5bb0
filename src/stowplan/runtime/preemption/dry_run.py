"""The victims of one node: take away all that could go, then put back whoever can stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from stowplan.framework import Code, CycleState, NodeInfo, Pod, Status
from stowplan.runtime.decide.filtering import nominated_rivals, run_filters
from stowplan.runtime.decide.what_if import WhatIf
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.victims import by_importance

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile

NO_VICTIMS = Status(Code.UnschedulableAndUnresolvable, "No preemption victims found for incoming pod")


class PreemptionCandidate(NamedTuple):
    """A node on which the pod would fit without the victims, who are listed most important first."""

    info: NodeInfo
    victims: tuple[Pod, ...]
    violations: int
    """How many victims a PodDisruptionBudget would have protected."""


class PreemptionCandidates(Sequence[PreemptionCandidate]):
    """Candidates that are put together when somebody looks at them."""

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


def dry_run(profile: Profile, state: CycleState, pod: Pod, info: NodeInfo) -> PreemptionCandidate | Status:
    """The least costly victims on one node, or why none help there."""
    potential = by_importance(info.pods.values(), pod.priority)
    if not potential:
        return NO_VICTIMS
    with WhatIf(profile, state, pod) as supposed:
        for other in potential:
            supposed.remove(other, info)
        status = _fits(profile, supposed, pod, info)
        if status is not None:
            return status
        pods, protected = profile.budgets.protected_first(potential)
        victims = []
        violations = 0
        for place, other in enumerate(pods):
            supposed.add(other, info)
            if _fits(profile, supposed, pod, info) is not None:
                supposed.remove(other, info)
                victims.append(other)
                violations += place < protected
    if not victims:
        raise CycleError(f'expected at least one victim pod on node "{info.name}"')
    return PreemptionCandidate(info, in_order(victims, 0 < protected < len(pods)), violations)


def in_order(victims: list[Pod], of_both_groups: bool) -> tuple[Pod, ...]:
    """Sorted again only where some were protected and some not; to sort twice is not the same as to sort once."""
    return tuple(by_importance(victims) if of_both_groups else victims)


def _fits(profile: Profile, supposed: WhatIf, pod: Pod, info: NodeInfo) -> Status | None:
    """The filters on the node as supposed, with and without the pods nominated to it."""
    rivals = nominated_rivals(profile, pod, info)
    if rivals:
        with WhatIf(profile, supposed.state, pod) as crowded:
            for rival in rivals:
                crowded.add(rival, info)
            status = run_filters(profile.filters, crowded.state, pod, info)
        if status is not None:
            return status
    return run_filters(profile.filters, supposed.state, pod, info)
