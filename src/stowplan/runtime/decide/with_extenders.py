"""Deciding with extenders: the cycle suspends where one is asked, and goes on with its answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

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

log = logging.getLogger("stowplan.extenders")

_SCALE = 10
"""From an extender's scores, 0 to 10, to those of plugins."""
_HIGHEST = 1 << 48
"""More than any honest score comes to; without a limit sums could overflow."""


async def decide(profile: Profile, pod: Pod) -> Decision:
    try:
        survey = Diagnosis(profile, pod).run()
        await _filter_all(survey)
        if not len(survey.feasible):
            return Decision.unschedulable(survey, await _post_filter(survey))
        if len(survey.feasible) > 1:
            survey.score()
            await _prioritize(survey)
        slot = int(survey.feasible[0] if len(survey.feasible) == 1 else best_slots(survey)[0])
    except CycleError as failure:
        return Decision.failed(profile, pod, failure)
    except StateNotFoundError as missing:
        return Decision.failed(profile, pod, CycleError(str(missing)))
    info = profile.cluster.nodes.infos[slot]
    assert info is not None
    evaluated = survey.evaluated or len(survey.examined)
    decision = Decision(profile, pod, info.name, len(survey.feasible), evaluated, survey.state)
    decision.survey = survey
    return decision


def _infos(survey: Diagnosis) -> list[NodeInfo]:
    """The feasible nodes."""
    infos = survey.profile.cluster.nodes.infos
    return [info for slot in survey.feasible.tolist() if (info := infos[slot]) is not None]


async def _filter_all(survey: Diagnosis) -> None:
    if survey.on_nominated_node:
        try:
            await _filter(survey)
        except CycleError as problem:
            # Whoever fails here may do better when asked about all nodes, and has the last word then.
            log.error("pod %s: evaluation failed on nominated node: %s", survey.pod.key, problem)
            survey.feasible = survey.feasible[:0]
        if len(survey.feasible):
            return
        survey.left_out_by_extenders = False
        survey.look_everywhere()
    if survey.profile.sampler is not None:
        _sample(survey)
    await _filter(survey)


def _sample(survey: Diagnosis) -> None:
    """Keep what a search that stops early would have come to; what it would not have looked at is not held against
    the pod either."""
    sampler = survey.profile.sampler
    assert sampler is not None
    survey.sample(sampler)
    if survey.evaluated and survey.evaluated < len(survey.examined):
        turns = sampler.rotation.turns(survey.examined)
        survey.verdicts[survey.examined[turns >= survey.evaluated]] = -1


async def _filter(survey: Diagnosis) -> None:
    """One extender after another, each about the nodes that those before it left."""
    slot_of = survey.profile.cluster.nodes.slot_of
    for extender in survey.profile.extenders:
        if not len(survey.feasible):
            return
        if not extender.is_interested(survey.pod) or not extender.serves("filter"):
            continue
        answer: Filtered | Failure = await CallExtender(extender, "filter", survey.pod, _infos(survey))
        if isinstance(answer, Failure):
            if not extender.ignorable:
                raise CycleError(answer.message)
            log.info("extender %s is left out, since it may be: %s", extender.name, answer.message)
            continue
        refused = _statuses(answer.failed, Code.Unschedulable)
        refused |= _statuses(answer.unresolvable, Code.UnschedulableAndUnresolvable)
        for name, status in refused.items():
            if name in slot_of:
                survey.reject(slot_of[name], status)
        passing = np.sort(np.array([slot_of[name] for name in answer.passing], dtype=np.intp))
        survey.left_out_by_extenders |= len(passing) != len(survey.feasible)
        survey.feasible = passing


def _statuses(reasons: Mapping[str, str], code: Code) -> dict[str, Status]:
    return {name: Status(code, reason) for name, reason in reasons.items()}


async def _prioritize(survey: Diagnosis) -> None:
    """All extenders at once. One that fails gives no scores, and that is all."""
    pod, infos = survey.pod, _infos(survey)
    asked = [e for e in survey.profile.extenders if e.is_interested(pod) and e.serves("prioritize")]
    answers = await Together([_scores(extender, pod, infos) for extender in asked])
    for extender, answer in zip(asked, answers, strict=True):
        weight = extender.weight * _SCALE
        scores = [answer.get(info.name, 0) for info in infos]
        survey.total += np.array([round(max(-_HIGHEST, min(_HIGHEST, score * weight))) for score in scores])
        told = np.array([round(max(-_HIGHEST, min(_HIGHEST, score))) for score in scores], dtype=np.int64)
        survey.scores.append(PluginScores(extender.name, weight, told, told))


async def _scores(extender: Extender, pod: Pod, infos: Sequence[NodeInfo]) -> Mapping[str, float]:
    answer: Mapping[str, float] | Failure = await CallExtender(extender, "prioritize", pod, infos)
    if isinstance(answer, Failure):
        log.warning("extender %s gives no scores to pod %s: %s", extender.name, pod.key, answer.message)
        return {}
    return answer


async def _post_filter(survey: Diagnosis) -> PostFilterRound:
    """PostFilter, where extenders have a say about evictions."""
    said = PostFilterRound()
    statuses = survey.node_statuses()
    for plugin in survey.profile.post_filters:
        answer = plugin.post_filter(survey.state, survey.pod, statuses)
        if isinstance(answer, Evictions):
            answer = await narrowed(survey, answer)
        if said.ends_with(answer):
            break
    return said
