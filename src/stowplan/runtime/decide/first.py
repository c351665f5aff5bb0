"""The first look at a template: one decision, nothing remembered.

A template that was never seen may never be seen again, so no plan is made for it until it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import CycleState, Mask, Nodes, Normalizer, Pod
from stowplan.plugins.base import InTreePlugin
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
from stowplan.runtime.decide.normalize import NORMALIZERS, Raw
from stowplan.runtime.decide.scoring import normalize, run_pre_scores, weighted_sum
from stowplan.runtime.decide.shared_answers import NodePlugins, NodeView
from stowplan.runtime.decide.ties import TIE_BITS
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.decide.plan_parts import Ranks, Weighted
    from stowplan.runtime.profile.plugins_by_scope import PluginsByScope
    from stowplan.runtime.profile.profile import Profile


def decide(profile: Profile, pod: Pod) -> Decision:
    """The decision that a diagnosis would come to."""
    table = profile.cluster.nodes
    everything = table.everything()
    shape = profile.shape.of(pod.template)
    state = CycleState()
    skipped = state.skip_filter
    skipped |= shape.unconcerned
    for plugin in shape.cluster_plugins:
        if plugin.idle_filter(pod):
            skipped.add(plugin.name)
    pre = run_pre_filters([p for p in shape.pre_filters if p.name not in skipped], state, pod, everything)
    if pre is not NO_OBJECTION:
        return Decision.of(Diagnosis(profile, pod).resume(state, pre, {}))
    run_pre_scores(shape.constant_pre_scores, state, pod, everything)
    view = _view(profile, shape, state, pod)
    look = _Look(profile, state, pod, view)
    # What the node object decides comes first: where it leaves few nodes, the rest is asked about those alone.
    look.ask(p for p in shape.node_filters if view is None or isinstance(p, OutOfTreePlugin))
    look.ask(shape.pod_filters)
    look.ask(shape.cluster_filters)
    nodes = look.feasible()
    if not nodes.meant:
        return Decision.of(Diagnosis(profile, pod).resume(state, NO_OBJECTION, look.answers))
    evaluated = len(table)
    if profile.sampler is not None:
        found, evaluated = profile.sampler.pick(nodes.slots(), evaluated)
        nodes = table.subset(found)
    slot = int(nodes.slots()[0]) if nodes.meant == 1 else _best(profile, shape, view, state, pod, nodes)
    info = table.infos[slot]
    assert info is not None
    return Decision(profile, pod, info.name, nodes.meant, evaluated, state)


def _view(profile: Profile, shape: PluginsByScope, state: CycleState, pod: Pod) -> NodeView | None:
    """What the node objects alone decide, where it was asked for before.

    Users' plugins have no part in it: they are not asked about more nodes than need be.
    """
    unfiltered, unscored = state.skip_filter, state.skip_score
    plugins = NodePlugins(
        [p for p in shape.node_filters if p.name not in unfiltered and not isinstance(p, OutOfTreePlugin)],
        [s for s in shape.node_scorers if s.plugin.name not in unscored and not isinstance(s.plugin, OutOfTreePlugin)],
        [
            s
            for s in shape.normalized_scorers
            if s.plugin.name not in unscored and not isinstance(s.plugin, OutOfTreePlugin)
        ],
    )
    return profile.static_answers.known_view(plugins, state, pod)


class _Look:
    """Which nodes are left for a pod."""

    def __init__(self, profile: Profile, state: CycleState, pod: Pod, view: NodeView | None) -> None:
        self._profile = profile
        self._state = state
        self._pod = pod
        self._table = profile.cluster.nodes
        self._nodes = self._table.everything()
        self._passing: Mask = self._table.alive[: self._table.high] if view is None else view.ok
        self.answers: OutOfTreeAnswers = {}
        if view is not None and view.open * 2 < self._table.high:
            self._narrow(self._table.subset(view.slots, fleeting=True))

    def ask(self, plugins: Iterable[InTreePlugin]) -> None:
        """Leave only the nodes that these plugins let pass."""
        state, pod, asked = self._state, self._pod, False
        for plugin in plugins:
            if plugin.name in state.skip_filter:
                continue
            asked = True
            if isinstance(plugin, OutOfTreePlugin):
                self._passing = filter_out_of_tree(
                    self._profile, plugin, state, pod, self._nodes, self._passing, self.answers
                )
            else:
                self._passing = self._passing & passing_nodes(plugin, state, pod, self._nodes)
        if asked and self._nodes is self._table.everything():
            left = int(np.count_nonzero(self._passing))
            if left * 2 < len(self._passing):
                self._narrow(self._table.subset(np.flatnonzero(self._passing), fleeting=True))

    def feasible(self) -> Nodes:
        """The nodes that are left, unless the pods nominated to them leave no room."""
        table, passing = self._table, self._passing
        if self._profile.nominator.by_node:
            passing = filter_with_nominated_pods(self._profile, self._state, self._pod, self._nodes, passing)
        if self._nodes is table.everything():
            return table.where(passing)
        positions = np.flatnonzero(passing)
        if len(positions) == len(self._nodes):
            return self._nodes
        return table.subset(self._nodes.slots_at(positions), fleeting=True)

    def _narrow(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._passing = np.ones(len(nodes), dtype=np.bool_)


def _best(
    profile: Profile, shape: PluginsByScope, view: NodeView | None, state: CycleState, pod: Pod, nodes: Nodes
) -> int:
    """The slot of the best of these nodes."""
    for plugin in shape.cluster_plugins:
        if plugin.idle_score(pod):
            state.skip_score.add(plugin.name)
    run_pre_scores(shape.cycle_pre_scores, state, pod, nodes)
    together = all(scorer.plugin.name not in state.skip_score for scorer in shape.pod_scorers)
    total = shape.pod_scores.total(state, pod, nodes) if together else None
    for plugin, weight in _scorers(shape, view, state, pods=not together):
        scores = plugin.score_nodes(state, pod, nodes)
        if plugin.normalize is None:
            total = weighted_sum(total, weight, normalize(plugin, state, pod, scores, nodes))
        else:
            total = _sum_normalized(total, plugin.normalize, weight, scores, nodes)
    base: Ranks = profile.ties.noise
    if view is not None:
        base = view.ranks(base, profile.rank_type)
        for plugin, weight, raw in view.normalized:
            assert plugin.normalize is not None
            total = _sum_normalized(total, plugin.normalize, weight, raw[nodes.index].copy(), nodes)
    if total is None:
        total = np.zeros(len(nodes), dtype=profile.rank_type)
    scaled: Ranks = total.astype(profile.rank_type, copy=False)
    rank: Ranks = scaled << TIE_BITS
    rank += nodes.read(base)
    if nodes.holes is not None:
        rank[nodes.holes] = -1
    position = int(rank.argmax())
    return position if isinstance(nodes.index, slice) else int(nodes.index[position])


def _scorers(shape: PluginsByScope, view: NodeView | None, state: CycleState, *, pods: bool) -> list[Weighted]:
    """The plugins whose scores are no part of the view; those that look at the pods of a node only on request."""
    of_nodes = (*shape.node_scorers, *shape.normalized_scorers)
    own = [s for s in of_nodes if view is None or isinstance(s.plugin, OutOfTreePlugin)]
    listed = (*(shape.pod_scorers if pods else ()), *own, *shape.other_scorers)
    return [s for s in listed if s.plugin.name not in state.skip_score]


def _sum_normalized(total: Raw | None, how: Normalizer, weight: int, raw: Raw, nodes: Nodes) -> Raw | None:
    least, most = nodes.extremes(raw)
    if least == most:
        return total  # the same for all, whatever it is normalised to
    return weighted_sum(total, weight, NORMALIZERS[how](raw, least, most))
