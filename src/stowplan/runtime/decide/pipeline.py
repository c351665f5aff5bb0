"""One scheduling decision: PreFilter, Filter, nominated pods, sampling, extenders, Score, choice; or PostFilter.

The stages are the same for every pod; what differs is the source of the plugins' answers (`sources`).

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes, selectHost)
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from stowplan.framework import CycleState, Pod
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis, no_nodes
from stowplan.runtime.decide.extenders import find_nodes_that_pass_extenders, narrow_evictions, prioritize_by_extenders
from stowplan.runtime.decide.sources import Afresh, AnswerSource
from stowplan.runtime.points.post_filter import NO_ROUND, run_post_filters

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile

T = TypeVar("T")


def schedule_pod(profile: Profile, pod: Pod, source: AnswerSource, *, post_filter: bool = True) -> Decision:
    """The decision for a pod, without extenders.

    Raises CycleError where a plugin fails. Without `post_filter`, PostFilter does not run.
    """
    source, state, feasible, evaluated = _find_feasible_nodes(profile, pod, source)
    diagnosis = source.diagnosis
    if not feasible:
        assert diagnosis is not None
        return Decision.unschedulable(diagnosis, run_to_end(run_post_filters(diagnosis)) if post_filter else NO_ROUND)
    slot = source.only_slot() if feasible == 1 else source.select_host(source.prioritize(state, pod))
    info = profile.cluster.nodes.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, feasible, evaluated, state, diagnosis)


async def schedule_pod_with_extenders(
    profile: Profile, pod: Pod, diagnosis: Diagnosis, *, post_filter: bool = True
) -> Decision:
    """The same with extenders, for answers made afresh. Suspends where an extender is called, and nowhere else."""
    source, state, _, evaluated = _find_feasible_nodes(profile, pod, Afresh(diagnosis))
    evaluated = await find_nodes_that_pass_extenders(diagnosis, evaluated)
    feasible = len(diagnosis.feasible)
    if not feasible:
        post_filtered = await run_post_filters(diagnosis, narrow_evictions) if post_filter else NO_ROUND
        return Decision.unschedulable(diagnosis, post_filtered)
    if feasible == 1:
        slot = source.only_slot()
    else:
        source.prioritize(state, pod)
        slot = source.select_host(await prioritize_by_extenders(diagnosis))
    info = profile.cluster.nodes.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, feasible, evaluated, state, diagnosis)


def _find_feasible_nodes(profile: Profile, pod: Pod, source: AnswerSource) -> tuple[AnswerSource, CycleState, int, int]:
    """PreFilter, Filter, nominated pods and sampling: (the source of the later stages, the state of the cycle, the
    number of feasible nodes, the number of nodes that were filtered)."""
    nodes = profile.cluster.nodes
    if not nodes.slot_of:
        raise no_nodes()
    state = CycleState()
    pre_filtered = source.run_pre_filters(state, pod)
    feasible = source.run_filters(state, pod, pre_filtered)
    if feasible and profile.nominator.by_node:
        feasible = source.run_filters_with_nominated_pods(state, pod)
    if not feasible and source.diagnosis is None:  # Kept answers have no reasons, and none for a part of the nodes.
        source = source.afresh(state, pod, pre_filtered)
        feasible = source.run_filters(state, pod, pre_filtered)
    diagnosis = source.diagnosis
    evaluated = len(nodes.slot_of) if diagnosis is None else len(diagnosis.examined)
    if profile.sampler is not None and feasible > 1:
        feasible, evaluated = source.sample(profile.sampler)
    return source, state, feasible, evaluated


def run_to_end(steps: Coroutine[Any, Any, T]) -> T:
    """The result of steps without extenders, which never suspend."""
    try:
        steps.send(None)
    except StopIteration as end:
        decision: T = end.value
        return decision
    raise RuntimeError("steps without extenders suspended")
