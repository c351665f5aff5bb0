"""The first look at a template: one decision, nothing remembered.

A template that was never seen may never be seen again, so no plan is made for it until it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import Code, CycleState, Mask, Nodes, Pod
from stowplan.runtime.authored import Authored
from stowplan.runtime.decision import Decision
from stowplan.runtime.filtering import (
    NO_OBJECTION,
    Answers,
    ask_authored,
    leave_out_crowded,
    passing_nodes,
    run_pre_filters,
)
from stowplan.runtime.normalizing import NORMALIZERS
from stowplan.runtime.outcomes import failed_at
from stowplan.runtime.survey import Survey
from stowplan.runtime.ties import TIE_BITS

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile


def decide(profile: Profile, pod: Pod) -> Decision:
    """The decision that a survey would come to."""
    table = profile.cluster.nodes
    everything = table.everything()
    state = CycleState()
    shape, template = profile.shape, pod.template
    unconcerned = {plugin.name for plugin in shape.plugins if not plugin.concerns(template)}
    skipped = state.skip_filter
    skipped |= unconcerned
    for plugin in shape.cluster_plugins:
        if plugin.name not in unconcerned and plugin.idle_filter(pod):
            skipped.add(plugin.name)
    pre = run_pre_filters([p for p in profile.pre_filters if p.name not in skipped], state, pod, everything)
    if pre is not NO_OBJECTION:
        return Decision.of(Survey(profile, pod).resume(state, pre, {}))
    answers: Answers = {}
    nodes = everything
    passing: Mask = table.alive[: table.high]
    # What the node object decides comes first: where it leaves few nodes, the rest is asked about those alone.
    for filters in (shape.node_filters, shape.pod_filters, shape.cluster_filters):
        for plugin in filters:
            if plugin.name in skipped:
                continue
            if isinstance(plugin, Authored):
                passing = ask_authored(profile, plugin, state, pod, nodes, passing, answers)
            else:
                passing = passing & passing_nodes(plugin, state, pod, nodes)
        if nodes is everything and int(np.count_nonzero(passing)) * 2 < len(passing):
            nodes = table.subset(np.flatnonzero(passing), fleeting=True)
            passing = np.ones(len(nodes), dtype=np.bool_)
    if profile.nominator.by_node:
        passing = leave_out_crowded(profile, state, pod, nodes, passing)
    nodes = table.where(passing) if nodes is everything else _narrowed(profile, nodes, passing)
    if not nodes.meant:
        return Decision.of(Survey(profile, pod).resume(state, NO_OBJECTION, answers))
    evaluated = len(table)
    if profile.sampler is not None:
        found, evaluated = profile.sampler.pick(nodes.slots(), evaluated)
        nodes = table.subset(found)
    state.skip_score |= unconcerned
    slot = _best(profile, state, pod, nodes)
    info = table.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, nodes.meant, evaluated, state)


def _narrowed(profile: Profile, nodes: Nodes, passing: Mask) -> Nodes:
    positions = np.flatnonzero(passing)
    if len(positions) == len(nodes):
        return nodes
    return profile.cluster.nodes.subset(nodes.slots_at(positions), fleeting=True)


def _best(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> int:
    """The slot of the best of these nodes."""
    index = nodes.index
    if nodes.meant == 1:
        return int(nodes.slots()[0])
    skipped = state.skip_score
    for plugin in profile.pre_scores:
        if plugin.name in skipped:
            continue
        status = plugin.pre_score(state, pod, nodes)
        if status is not None and status.code:
            if status.code != Code.Skip:
                raise failed_at("preScore", plugin.name, status.message)
            skipped.add(plugin.name)
    rank = np.zeros(len(nodes), dtype=np.int64)
    for plugin, weight in profile.scorers:
        if plugin.name not in skipped:
            scores = plugin.score_nodes(state, pod, nodes)
            if plugin.normalize is not None:
                least, most = nodes.extremes(scores)
                if least == most:
                    continue  # the same for all, whatever it is normalised to
                scores = NORMALIZERS[plugin.normalize](scores, least, most)
            elif plugin in profile.shape.self_normalizing:
                scores = plugin.normalize_nodes(state, pod, scores, nodes)
            rank += scores if weight == 1 else weight * scores
    rank <<= TIE_BITS
    rank += nodes.read(profile.ties.noise)
    if nodes.holes is not None:
        rank[nodes.holes] = -1
    position = int(rank.argmax())
    return position if isinstance(index, slice) else int(index[position])
