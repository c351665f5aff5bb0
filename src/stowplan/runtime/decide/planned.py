"""Deciding with a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import CycleState, Mask, Nodes, Pod
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import (
    NO_OBJECTION,
    OutOfTreeAnswers,
    filter_out_of_tree,
    passing_nodes,
    run_pre_filters,
)
from stowplan.runtime.decide.nominated_pods import filter_with_nominated_pods
from stowplan.runtime.decide.normalize import Raw
from stowplan.runtime.decide.scoring import normalize, run_pre_scores, weighted_sum
from stowplan.runtime.decide.ties import TIE_BITS
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.decide.plan import Plan
    from stowplan.runtime.decide.plan_parts import Ranks, Weighted
    from stowplan.runtime.profile.profile import Profile


def decide(profile: Profile, plan: Plan, pod: Pod) -> Decision:
    """The decision that a diagnosis would come to, by the shortest way there."""
    if plan.rules_version != profile.cluster.selection.rules_version:
        plan.apply_rules(pod)
    state = CycleState()
    crowded = bool(profile.nominator.by_node)
    undisturbed = not crowded and plan.undisturbed(pod)
    if not undisturbed:
        state.skip_filter |= plan.skipped
        pre = run_pre_filters(plan.pre_filters, state, pod, plan.nodes.everything())
        # Or a user's plugin stands aside for this pod, although its answers for the template are remembered.
        if pre is not NO_OBJECTION or not plan.folded.isdisjoint(state.skip_filter):
            return Decision.of(Diagnosis(profile, pod).resume(state, pre, {}))
    plan.sync(state, pod, undisturbed=undisturbed)
    answers: OutOfTreeAnswers = {}
    allowed: Mask | None = None
    if plan.live_filters or crowded:
        allowed = _live_mask(profile, plan, state, pod, answers)
    ranks, feasible = plan.key, plan.feasible
    if allowed is not None:
        ranks = ranks * allowed
        feasible = int(np.count_nonzero(ranks))
    if not feasible:
        if undisturbed:
            state.skip_filter |= plan.skipped
            run_pre_filters(plan.pre_filters, state, pod, plan.nodes.everything())
        return Decision.of(Diagnosis(profile, pod).resume(state, NO_OBJECTION, answers))
    evaluated = len(plan.nodes)
    if profile.sampler is not None:
        open_ = plan.ok if allowed is None else plan.ok & allowed
        found, evaluated = profile.sampler.pick(np.flatnonzero(open_), evaluated)
        if len(found) < feasible:
            feasible = len(found)
            allowed = np.zeros(len(plan.ok), dtype=np.bool_)
            allowed[found] = True
            ranks = plan.key * allowed
    slot = -1
    if plan.live_scorers or plan.pre_scores or (allowed is not None and plan.normalized):
        slot = _best_by_scores(profile, plan, state, pod, allowed)
    if slot < 0:
        slot = int(ranks.argmax())
    info = plan.nodes.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, feasible, evaluated, state)


def _live_mask(profile: Profile, plan: Plan, state: CycleState, pod: Pod, answers: OutOfTreeAnswers) -> Mask | None:
    """Nodes that pass the filters which have to be asked in every cycle; None where nothing restricts them."""
    allowed: Mask | None = None
    for plugin in plan.live_filters:
        if plugin.name in state.skip_filter:
            continue
        if isinstance(plugin, OutOfTreePlugin):
            open_ = plan.ok if allowed is None else plan.ok & allowed
            passing = filter_out_of_tree(profile, plugin, state, pod, plan.nodes.everything(), open_, answers)
        else:
            passing = passing_nodes(plugin, state, pod, plan.nodes.everything())
        allowed = passing if allowed is None else allowed & passing
    if profile.nominator.by_node:
        open_ = plan.ok if allowed is None else plan.ok & allowed
        left = filter_with_nominated_pods(profile, state, pod, plan.nodes.everything(), open_)
        if left is not open_:
            return left
    return allowed


def _best_by_scores(profile: Profile, plan: Plan, state: CycleState, pod: Pod, allowed: Mask | None) -> int:
    """The best slot where scores have to be made in this cycle; -1 where the plan's ranks say it all."""
    nodes = plan.nodes_allowed(allowed)
    scorers = _active_scorers(plan, state, pod, nodes)
    index = nodes.index
    if plan.normalized and allowed is not None:
        total = plan.totals(nodes)
        for part in plan.normalized:
            raw = part.raw[index].copy()
            total = total + part.over(raw, *nodes.extremes(raw))
        rank: Ranks = total << TIE_BITS
        rank += profile.ties.noise[index]
    elif scorers:
        rank = plan.key[index]
    else:
        return -1
    live: Raw | None = None
    for plugin, weight in scorers:
        live = weighted_sum(live, weight, normalize(plugin, state, pod, plugin.score_nodes(state, pod, nodes), nodes))
    if live is not None:
        rank = (live << TIE_BITS) + rank
    if nodes.holes is not None:
        rank[nodes.holes] = -1
    position = int(rank.argmax())
    return position if isinstance(index, slice) else int(index[position])


def _active_scorers(plan: Plan, state: CycleState, pod: Pod, nodes: Nodes) -> list[Weighted]:
    """The plugins whose scores have to be made in this cycle."""
    run_pre_scores(plan.pre_scores, state, pod, nodes)
    return [scorer for scorer in plan.live_scorers if scorer.plugin.name not in state.skip_score]
