"""The victims of one node: take away all that could go, then put back whoever can stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stowplan.framework import Code, CycleState, NodeInfo, Pod, Status
from stowplan.runtime.filtering import nominated_rivals, run_filters
from stowplan.runtime.outcomes import CycleError
from stowplan.runtime.preemption.victims import importance
from stowplan.runtime.suppose import Supposition

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile

NO_VICTIMS = Status(Code.UnschedulableAndUnresolvable, "No preemption victims found for incoming pod")


class Candidate(NamedTuple):
    """A node on which the pod would fit without the victims, who are listed most important first."""

    info: NodeInfo
    victims: tuple[Pod, ...]
    violations: int
    """How many victims a PodDisruptionBudget would have protected."""


def dry_run(profile: Profile, state: CycleState, pod: Pod, info: NodeInfo) -> Candidate | Status:
    """The least costly victims on one node, or why none help there."""
    potential = sorted((p for p in info.pods.values() if p.priority < pod.priority), key=importance)
    if not potential:
        return NO_VICTIMS
    with Supposition(profile, state, pod) as supposed:
        for other in potential:
            supposed.remove(other, info)
        status = _fits(profile, supposed, pod, info)
        if status is not None:
            return status
        violating, others = profile.budgets.split(potential)
        victims = []
        violations = 0
        for protected, group in ((True, violating), (False, others)):
            for other in group:
                supposed.add(other, info)
                if _fits(profile, supposed, pod, info) is not None:
                    supposed.remove(other, info)
                    victims.append(other)
                    violations += protected
    if not victims:
        raise CycleError(f'expected at least one victim pod on node "{info.name}"')
    return Candidate(info, tuple(sorted(victims, key=importance)), violations)


def _fits(profile: Profile, supposed: Supposition, pod: Pod, info: NodeInfo) -> Status | None:
    """The filters on the node as supposed, with and without the pods nominated to it."""
    rivals = nominated_rivals(profile, pod, info)
    if rivals:
        with Supposition(profile, supposed.state, pod) as crowded:
            for rival in rivals:
                crowded.add(rival, info)
            status = run_filters(profile.filters, crowded.state, pod, info)
        if status is not None:
            return status
    return run_filters(profile.filters, supposed.state, pod, info)
