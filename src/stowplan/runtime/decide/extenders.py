"""The part of extenders in a decision: filter, prioritize, preempt. The cycle suspends where one is called.

Upstream: pkg/scheduler/schedule_one.go (findNodesThatPassExtenders, prioritizeNodes),
pkg/scheduler/framework/preemption/preemption.go (callExtenders)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stowplan import logs
from stowplan.framework import Code, Failure, NodeInfo, Pod, PostFilterResult, Scores, Status, Together
from stowplan.framework.extender import CallExtender, Extender, ExtenderMetaVictims, ExtenderVictims, Filtered
from stowplan.runtime.decide.scoring import PluginScores
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption import Preemption, PreemptionCandidate
from stowplan.runtime.preemption.select_candidate import best, costs_of
from stowplan.runtime.profile.handle import Evictions

if TYPE_CHECKING:
    from stowplan.cache import NodeTable
    from stowplan.runtime.decide.diagnosis import Diagnosis

log = logs.get(__name__)

_PLUGIN_SCORE_PER_EXTENDER_SCORE = 10
"""Scores of extenders are 0 to 10, those of plugins 0 to 100."""
_MAX_SCORE = 1 << 48
"""Scores are cut to this, so that sums cannot overflow."""
NO_CANDIDATE = Status(Code.Unschedulable, "preemption: no candidate node for preemption", plugin="DefaultPreemption")


def _infos(diagnosis: Diagnosis) -> list[NodeInfo]:
    """The feasible nodes."""
    infos = diagnosis.profile.cluster.nodes.infos
    return [info for slot in diagnosis.feasible.tolist() if (info := infos[slot]) is not None]


async def find_nodes_that_pass_extenders(diagnosis: Diagnosis, evaluated: int) -> int:
    """Leave the feasible nodes that pass the filters of extenders; returns the number of nodes filtered for that.

    Where the pod's nominated node does not pass, all nodes are filtered.
    """
    sampler = diagnosis.profile.sampler
    if diagnosis.on_nominated_node:
        try:
            await _filter(diagnosis)
        except CycleError as problem:
            # The extender may succeed when it is called for all nodes; if it fails again, that error counts.
            log.error(problem, "Evaluation failed on nominated node", pod=logs.ref(diagnosis.pod))
            diagnosis.feasible = diagnosis.feasible[:0]
        if len(diagnosis.feasible):
            return evaluated
        diagnosis.left_out_by_extenders = False
        evaluated = len(diagnosis.filter_all_nodes().examined)
        if sampler is not None and len(diagnosis.feasible) > 1:
            evaluated = diagnosis.sample(sampler)
    if sampler is not None and evaluated < len(diagnosis.examined):
        # Nodes that the search does not come to have no status.
        turns = sampler.rotation.turns(diagnosis.examined)
        diagnosis.verdicts[diagnosis.examined[turns >= evaluated]] = -1
    await _filter(diagnosis)
    return evaluated


async def _filter(diagnosis: Diagnosis) -> None:
    """One extender after another, each about the nodes that those before it left."""
    slot_of = diagnosis.profile.cluster.nodes.slot_of
    for extender in diagnosis.profile.extenders:
        if not len(diagnosis.feasible):
            return
        if not extender.is_interested(diagnosis.pod) or not extender.serves("filter"):
            continue
        answer: Filtered | Failure = await CallExtender(extender, "filter", diagnosis.pod, _infos(diagnosis))
        if isinstance(answer, Failure):
            if not extender.ignorable:
                raise CycleError(answer.message)
            log.info(
                "Skipping extender as it returned error and has ignorable flag set",
                extender=extender.name,
                err=answer.message,
            )
            continue
        refused = _statuses(answer.failed, Code.Unschedulable)
        refused |= _statuses(answer.unresolvable, Code.UnschedulableAndUnresolvable)
        for name, status in refused.items():
            if name in slot_of:
                diagnosis.reject(slot_of[name], status)
        passing = np.sort(np.array([slot_of[name] for name in answer.passing], dtype=np.intp))
        diagnosis.left_out_by_extenders |= len(passing) != len(diagnosis.feasible)
        diagnosis.feasible = passing


def _statuses(reasons: Mapping[str, str], code: Code) -> dict[str, Status]:
    return {name: Status(code, reason) for name, reason in reasons.items()}


async def prioritize_by_extenders(diagnosis: Diagnosis) -> Scores:
    """The totals of the feasible nodes with the scores of extenders, which are called concurrently.

    An extender that fails gives no scores.
    """
    pod, infos = diagnosis.pod, _infos(diagnosis)
    called = [e for e in diagnosis.profile.extenders if e.is_interested(pod) and e.serves("prioritize")]
    answers = await Together([_scores(extender, pod, infos) for extender in called])
    for extender, answer in zip(called, answers, strict=True):
        weight = extender.weight * _PLUGIN_SCORE_PER_EXTENDER_SCORE
        scores = [answer.get(info.name, 0) for info in infos]
        diagnosis.total += np.array([round(max(-_MAX_SCORE, min(_MAX_SCORE, score * weight))) for score in scores])
        raw = np.array([round(max(-_MAX_SCORE, min(_MAX_SCORE, score))) for score in scores], dtype=np.int64)
        diagnosis.scores.append(PluginScores(extender.name, weight, raw, raw))
    return diagnosis.total


async def _scores(extender: Extender, pod: Pod, infos: Sequence[NodeInfo]) -> Mapping[str, float]:
    answer: Mapping[str, float] | Failure = await CallExtender(extender, "prioritize", pod, infos)
    if isinstance(answer, Failure):
        log.warning(
            "Failed to run extender's priority function. No score given by this extender.",
            err=answer.message,
            pod=logs.ref(pod),
            extender=extender.name,
        )
        return {}
    return answer


async def narrow_evictions(diagnosis: Diagnosis, found: PostFilterResult) -> PostFilterResult | Status:
    """The evictions left by the preempt verb of extenders, which may drop nodes and name other victims and nodes."""
    if not isinstance(found, Evictions):
        return found
    profile, pod = diagnosis.profile, diagnosis.pod
    nodes = profile.cluster.nodes
    called = [extender for extender in profile.extenders if extender.serves("preempt") and extender.is_interested(pod)]
    if not called:
        return found
    offers = {c.info.name: ExtenderVictims(tuple(c.victims), c.violations) for c in found.preemption.candidates}
    for extender in called:
        answer: Mapping[str, ExtenderMetaVictims] | Failure = await CallExtender(extender, "preempt", pod, offers)
        try:
            if isinstance(answer, Failure):
                raise CycleError(answer.message)
            claimed = {name: _resolved(extender, nodes, name, claim) for name, claim in answer.items()}
        except CycleError as problem:
            if not extender.ignorable:
                return Status(Code.Error, f"preemption: {problem.status.message}")
            log.info(
                "Skipped extender as it returned error and has ignorable flag set", extender=extender.name, err=problem
            )
            continue
        empty = next((name for name, eviction in claimed.items() if not eviction.victims), None)
        if empty is not None and not extender.ignorable:
            return Status(Code.Error, f"preemption: expected at least one victim pod on node {json.dumps(empty)}")
        offers = {name: eviction for name, eviction in claimed.items() if eviction.victims}
        if not offers:
            return NO_CANDIDATE
    return _chosen(diagnosis, nodes, offers)


def _resolved(extender: Extender, nodes: NodeTable, name: str, claim: ExtenderMetaVictims) -> ExtenderVictims:
    """The pods that a claim is about; those who are not there are an error."""
    info = nodes.get(name)
    if info is None:
        raise CycleError(f"nodeinfo not found for node name {json.dumps(name)}")
    for uid in claim.uids:
        if uid not in info.pods:
            raise CycleError(
                f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return ExtenderVictims(tuple(info.pods[uid] for uid in dict.fromkeys(claim.uids)), claim.pdb_violations)


def _chosen(diagnosis: Diagnosis, nodes: NodeTable, offers: Mapping[str, ExtenderVictims]) -> Evictions:
    left = [
        PreemptionCandidate(info, offer.victims, offer.pdb_violations)
        for name, offer in offers.items()
        if (info := nodes.get(name)) is not None
    ]
    tied = [left[position] for position in best(costs_of(left))]
    return Evictions(Preemption(left, tied, diagnosis.profile.rng.choice(tied), ""))
