"""Deciding with a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import Code, CycleState, Mask, Nodes, Pod
from stowplan.runtime.authored import Authored
from stowplan.runtime.decision import Decision
from stowplan.runtime.filtering import filter_node, nominated_rivals, run_pre_filters
from stowplan.runtime.outcomes import failed_at
from stowplan.runtime.scoring import normalize
from stowplan.runtime.survey import Answers, Survey
from stowplan.runtime.ties import TIE_BITS

if TYPE_CHECKING:
    from stowplan.runtime.parts import Weighted
    from stowplan.runtime.plan import Plan
    from stowplan.runtime.profile import Profile


def decide(profile: Profile, plan: Plan, pod: Pod) -> Decision:
    """The decision that a survey would come to, by the shortest way there."""
    if plan.rules_version != profile.cluster.selection.rules_version:
        plan.apply_rules(pod)
    state = CycleState()
    if plan.pre_filters:
        state.skip_filter |= plan.skipped
        pre = run_pre_filters(plan.pre_filters, state, pod, plan.everything())
        if pre.status is not None or pre.names is not None:
            return profile.decide_afresh(pod)
    plan.sync(state, pod)
    answers: Answers = {}
    allowed: Mask | None = None
    if plan.live_filters or profile.nominator.by_node:
        allowed = _live_mask(profile, plan, state, pod, answers)
    feasible = plan.feasible if allowed is None else int(np.count_nonzero(plan.ok & allowed))
    if not feasible:
        state.skip_filter |= plan.skipped
        return Decision.unschedulable(Survey(profile, pod).resume(state, answers))
    slot = -1
    if plan.live_scorers or plan.pre_scores or (allowed is not None and plan.normalized):
        slot = _best_by_scores(profile, plan, state, pod, allowed)
    if slot < 0:
        slot = int((plan.key if allowed is None else plan.key * allowed).argmax())
    info = plan.table.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, feasible, len(plan.table))


def _live_mask(profile: Profile, plan: Plan, state: CycleState, pod: Pod, answers: Answers) -> Mask | None:
    """Nodes that pass the filters which have to be asked in every cycle; None where they reject none."""
    allowed: Mask | None = None
    for plugin in plan.live_filters:
        if plugin.name in state.skip_filter:
            continue
        nodes = plan.everything()
        if isinstance(plugin, Authored):
            # Somebody's own code is asked about no more nodes than kube-scheduler would ask it about.
            nodes = plan.table.subset(np.flatnonzero(plan.ok if allowed is None else plan.ok & allowed))
            answers[plugin.name] = (nodes, list(plugin.filter_nodes(state, pod, nodes)))
            passing = np.zeros(len(plan.ok), dtype=np.bool_)
            passing[nodes.index] = True
            for mask, status in answers[plugin.name][1]:
                if not status.rejected and mask.any():
                    raise failed_at("filter", plugin.name, status.message)
                passing[nodes.slots()[mask]] = False
        else:
            passing = np.zeros(len(plan.ok), dtype=np.bool_)
            passing[nodes.index] = plugin.passing_nodes(state, pod, nodes)
        allowed = passing if allowed is None else allowed & passing
    return _without_crowded(profile, plan, state, pod, allowed)


def _without_crowded(profile: Profile, plan: Plan, state: CycleState, pod: Pod, allowed: Mask | None) -> Mask | None:
    """Exclude nodes where the pod would not fit beside the pods nominated to them."""
    for name in profile.nominator.by_node:
        info = plan.table.get(name)
        if info is None or not plan.ok[info.slot] or not nominated_rivals(profile, pod, info):
            continue
        if filter_node(profile, state, pod, info) is not None:
            if allowed is None:
                allowed = np.ones(len(plan.ok), dtype=np.bool_)
            allowed[info.slot] = False
    return allowed


def _best_by_scores(profile: Profile, plan: Plan, state: CycleState, pod: Pod, allowed: Mask | None) -> int:
    """The best slot where scores have to be made in this cycle; -1 where the plan's ranks say it all."""
    nodes = plan.nodes_allowed(allowed)
    scorers = _active_scorers(plan, state, pod, nodes)
    index = nodes.index
    if plan.normalized and allowed is not None:
        total = plan.base[index]
        for part in plan.normalized:
            raw = part.raw[index].copy()
            total = total + part.over(raw, *nodes.extremes(raw))
    elif scorers:
        total = plan.total[index]
    else:
        return -1
    for plugin, weight in scorers:
        scores = normalize(plugin, state, pod, plugin.score_nodes(state, pod, nodes), nodes)
        total = total + weight * scores
    rank = total << TIE_BITS
    rank += profile.ties.noise[index]
    if nodes.holes is not None:
        rank[nodes.holes] = -1
    position = int(rank.argmax())
    return position if isinstance(index, slice) else int(index[position])


def _active_scorers(plan: Plan, state: CycleState, pod: Pod, nodes: Nodes) -> list[Weighted]:
    """The plugins whose scores have to be made in this cycle."""
    for plugin in plan.pre_scores:
        status = plugin.pre_score(state, pod, nodes)
        if status is not None and status.code:
            if status.code != Code.Skip:
                raise failed_at("preScore", plugin.name, status.message)
            state.skip_score.add(plugin.name)
    return [scorer for scorer in plan.live_scorers if scorer.plugin.name not in state.skip_score]
