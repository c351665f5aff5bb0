"""One scheduling decision: PreFilter, Filter, nominated pods, sampling, extenders, Score, choice; or PostFilter.

The stages are the same for every pod; what differs is the source of the plugins' answers (`sources`).

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes, selectHost)
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from stowplan.framework import CycleState, Pod
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.decide.diagnosis import no_nodes
from stowplan.runtime.decide.extenders import find_nodes_that_pass_extenders, narrow_evictions, prioritize_by_extenders
from stowplan.runtime.decide.sources import AnswerSource
from stowplan.runtime.points.post_filter import PostFilterRound, run_post_filters

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile

T = TypeVar("T")


async def schedule_pod(
    profile: Profile, pod: Pod, source: AnswerSource, *, extenders: bool = False, post_filter: bool = True
) -> Decision:
    """The decision for a pod. Suspends where an extender is called, and nowhere else.

    Raises CycleError where a plugin fails. Extenders take a source that makes answers afresh. Without `post_filter`,
    PostFilter does not run.
    """
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
    if extenders and diagnosis is not None:
        evaluated = await find_nodes_that_pass_extenders(diagnosis, evaluated)
        feasible = len(diagnosis.feasible)
    if not feasible:
        assert diagnosis is not None
        post_filtered = PostFilterRound()
        if post_filter:
            post_filtered = await run_post_filters(diagnosis, narrow_evictions if extenders else None)
        return Decision.unschedulable(diagnosis, post_filtered)
    if feasible == 1:
        slot = source.only_slot()
    else:
        ranks = source.prioritize(state, pod)
        if extenders and diagnosis is not None:
            ranks = await prioritize_by_extenders(diagnosis)
        slot = source.select_host(ranks)
    info = nodes.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, feasible, evaluated, state, diagnosis)


def run_to_end(steps: Coroutine[Any, Any, T]) -> T:
    """The result of a pipeline without extenders, which never suspends."""
    try:
        steps.send(None)
    except StopIteration as end:
        decision: T = end.value
        return decision
    raise RuntimeError("a decision without extenders suspended")
