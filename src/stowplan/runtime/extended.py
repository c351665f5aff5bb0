"""Deciding with extenders: the cycle suspends where one is asked, and goes on with its answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import Code, Failure, Pod, StateNotFoundError, Status, Together
from stowplan.framework.extender import CallExtender, Eviction, Extender, Filtered
from stowplan.runtime.decision import Decision, best_slots
from stowplan.runtime.outcomes import CycleError
from stowplan.runtime.preemption import Preemption
from stowplan.runtime.preemption.choice import best, costs_of
from stowplan.runtime.survey import Survey

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile

log = logging.getLogger("stowplan.extenders")

_SCALE = 10
"""From an extender's scores, 0 to 10, to those of plugins."""


async def decide(profile: Profile, pod: Pod) -> Decision:
    try:
        survey = Survey(profile, pod).run()
        await _filter(survey)
        if survey.on_nominated_node and not len(survey.feasible):
            survey.look_everywhere()
            await _filter(survey)
        if not len(survey.feasible):
            decision = Decision.of(survey)
            await _narrow_preemption(decision)
            return decision
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


def _interested(profile: Profile, pod: Pod) -> list[Extender]:
    return [extender for extender in profile.extenders if extender.is_interested(pod)]


async def _filter(survey: Survey) -> None:
    """One extender after another, each about the nodes that those before it left."""
    profile, pod = survey.profile, survey.pod
    if profile.sampler is not None:
        survey.sample(profile.sampler)
    slot_of = profile.cluster.nodes.slot_of
    infos = profile.cluster.nodes.infos
    for extender in _interested(profile, pod):
        if not len(survey.feasible):
            return
        if not extender.serves("filter"):
            continue
        names = [info.name for slot in survey.feasible.tolist() if (info := infos[slot]) is not None]
        answer: Filtered | Failure = await CallExtender(extender, "filter", pod, names)
        if isinstance(answer, Failure):
            _unless_ignorable(extender, answer)
            continue
        refused = _statuses(answer.failed, Code.Unschedulable)
        refused |= _statuses(answer.unresolvable, Code.UnschedulableAndUnresolvable)
        for name, status in refused.items():
            if name in slot_of:
                survey.reject(slot_of[name], status)
        passing = np.array([slot_of[name] for name in answer.passing], dtype=np.intp)
        survey.left_out_by_extenders |= len(passing) != len(survey.feasible)
        survey.feasible = passing


def _statuses(reasons: Mapping[str, str], code: Code) -> dict[str, Status]:
    return {name: Status(code, reason) for name, reason in reasons.items()}


def _unless_ignorable(extender: Extender, failure: Failure) -> None:
    if not extender.ignorable:
        raise CycleError(failure.message)
    log.info("extender %s is left out, since it may be: %s", extender.name, failure.message)


async def _prioritize(survey: Survey) -> None:
    """All extenders at once. One that fails gives no scores, and that is all."""
    profile, pod = survey.profile, survey.pod
    infos = profile.cluster.nodes.infos
    names = [info.name for slot in survey.feasible.tolist() if (info := infos[slot]) is not None]
    asked = [extender for extender in _interested(profile, pod) if extender.serves("prioritize")]
    answers = await Together([_scores(extender, pod, names) for extender in asked])
    position_of = {name: position for position, name in enumerate(names)}
    for extender, answer in zip(asked, answers, strict=True):
        for name, score in answer.items():
            if name in position_of:
                survey.total[position_of[name]] += score * extender.weight * _SCALE


async def _scores(extender: Extender, pod: Pod, names: Sequence[str]) -> dict[str, int]:
    answer = await CallExtender(extender, "prioritize", pod, names)
    if isinstance(answer, Failure):
        log.debug("extender %s gives no scores: %s", extender.name, answer.message)
        return {}
    return dict(answer)


async def _narrow_preemption(decision: Decision) -> None:
    """Extenders may take nodes, or victims, off what preemption found."""
    preemption = decision.preemption
    if preemption is None or preemption.chosen is None:
        return
    profile, pod = decision.profile, decision.pod
    offers = {c.info.name: Eviction(tuple(c.victims), c.violations) for c in preemption.candidates}
    for extender in _interested(profile, pod):
        if not extender.serves("preempt") or not offers:
            continue
        answer: dict[str, Eviction] | Failure = await CallExtender(extender, "preempt", pod, offers)
        if isinstance(answer, Failure):
            _unless_ignorable(extender, answer)
            continue
        empty = [name for name, eviction in answer.items() if not eviction.victims]
        if empty and not extender.ignorable:
            raise CycleError(f'expected at least one victim pod on node "{empty[0]}"')
        offers = {name: eviction for name, eviction in answer.items() if eviction.victims}
    decision.preemption = _chosen_from(decision, preemption, offers)
    decision.nominated_node_name = decision.preemption.node_name


def _chosen_from(decision: Decision, preemption: Preemption, offers: dict[str, Eviction]) -> Preemption:
    left = []
    for candidate in preemption.candidates:
        offer = offers.get(candidate.info.name)
        if offer is not None:
            left.append(candidate._replace(victims=offer.victims, violations=offer.pdb_violations))
    if not left:
        return Preemption((), (), None, "")
    tied = [left[position] for position in best(costs_of(left))]
    return Preemption(left, tied, decision.profile.rng.choice(tied), "")
