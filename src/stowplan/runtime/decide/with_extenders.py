"""Deciding with extenders: the cycle suspends where one is asked, and goes on with its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stowplan import logs
from stowplan.framework import Code, Failure, NodeInfo, Pod, StateNotFoundError, Status, Together
from stowplan.framework.extender import CallExtender, Extender, Filtered
from stowplan.runtime.decide.decision import Decision, best_slots
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.extender_filtering import narrowed
from stowplan.runtime.decide.scoring import PluginScores
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.points.post_filter import PostFilterRound
from stowplan.runtime.profile.handle import Evictions

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile

log = logs.get(__name__)

_SCALE = 10
"""From an extender's scores, 0 to 10, to those of plugins."""
_HIGHEST = 1 << 48
"""More than any honest score comes to; without a limit sums could overflow."""


async def decide(profile: Profile, pod: Pod) -> Decision:
    try:
        diagnosis = Diagnosis(profile, pod).run()
        await _filter_all(diagnosis)
        if not len(diagnosis.feasible):
            return Decision.unschedulable(diagnosis, await _post_filter(diagnosis))
        if len(diagnosis.feasible) > 1:
            diagnosis.score()
            await _prioritize(diagnosis)
        slot = int(diagnosis.feasible[0] if len(diagnosis.feasible) == 1 else best_slots(diagnosis)[0])
    except CycleError as failure:
        return Decision.failed(profile, pod, failure)
    except StateNotFoundError as missing:
        return Decision.failed(profile, pod, CycleError(str(missing)))
    info = profile.cluster.nodes.infos[slot]
    assert info is not None
    evaluated = diagnosis.evaluated or len(diagnosis.examined)
    decision = Decision(profile, pod, info.name, len(diagnosis.feasible), evaluated, diagnosis.state)
    decision.diagnosis = diagnosis
    return decision


def _infos(diagnosis: Diagnosis) -> list[NodeInfo]:
    """The feasible nodes."""
    infos = diagnosis.profile.cluster.nodes.infos
    return [info for slot in diagnosis.feasible.tolist() if (info := infos[slot]) is not None]


async def _filter_all(diagnosis: Diagnosis) -> None:
    if diagnosis.on_nominated_node:
        try:
            await _filter(diagnosis)
        except CycleError as problem:
            # Whoever fails here may do better when asked about all nodes, and has the last word then.
            log.error(problem, "Evaluation failed on nominated node", pod=logs.ref(diagnosis.pod))
            diagnosis.feasible = diagnosis.feasible[:0]
        if len(diagnosis.feasible):
            return
        diagnosis.left_out_by_extenders = False
        diagnosis.look_everywhere()
    if diagnosis.profile.sampler is not None:
        _sample(diagnosis)
    await _filter(diagnosis)


def _sample(diagnosis: Diagnosis) -> None:
    """Keep what a search that stops early would have come to; what it would not have looked at is not held against
    the pod either."""
    sampler = diagnosis.profile.sampler
    assert sampler is not None
    diagnosis.sample(sampler)
    if diagnosis.evaluated and diagnosis.evaluated < len(diagnosis.examined):
        turns = sampler.rotation.turns(diagnosis.examined)
        diagnosis.verdicts[diagnosis.examined[turns >= diagnosis.evaluated]] = -1


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


async def _prioritize(diagnosis: Diagnosis) -> None:
    """All extenders at once. One that fails gives no scores, and that is all."""
    pod, infos = diagnosis.pod, _infos(diagnosis)
    asked = [e for e in diagnosis.profile.extenders if e.is_interested(pod) and e.serves("prioritize")]
    answers = await Together([_scores(extender, pod, infos) for extender in asked])
    for extender, answer in zip(asked, answers, strict=True):
        weight = extender.weight * _SCALE
        scores = [answer.get(info.name, 0) for info in infos]
        diagnosis.total += np.array([round(max(-_HIGHEST, min(_HIGHEST, score * weight))) for score in scores])
        told = np.array([round(max(-_HIGHEST, min(_HIGHEST, score))) for score in scores], dtype=np.int64)
        diagnosis.scores.append(PluginScores(extender.name, weight, told, told))


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


async def _post_filter(diagnosis: Diagnosis) -> PostFilterRound:
    """PostFilter, where extenders have a say about evictions."""
    said = PostFilterRound()
    statuses = diagnosis.node_statuses()
    for plugin in diagnosis.profile.post_filters:
        answer = plugin.post_filter(diagnosis.state, diagnosis.pod, statuses)
        if isinstance(answer, Evictions):
            answer = await narrowed(diagnosis, answer)
        if said.ends_with(answer):
            break
    return said
