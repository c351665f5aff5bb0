"""Running PreScore, Score and normalisation over the feasible nodes.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Code, CycleState, Mask, NodeInfo, Nodes, Pod, Scores, Slots, Status, implements
from stowplan.plugins.base import SharedScorer
from stowplan.runtime.decide.normalize import NORMALIZERS, Raw
from stowplan.runtime.points.cycle_error import failed_at

if TYPE_CHECKING:
    from stowplan.plugins.base import InTreePlugin
    from stowplan.runtime.profile.profile import Profile


class PluginScores(NamedTuple):
    """One plugin's scores of the feasible nodes."""

    plugin: str
    weight: int
    raw: Raw
    normalized: Scores


class Weighted(NamedTuple):
    """A score plugin and its weight."""

    plugin: InTreePlugin
    weight: int


class Summed:
    """The sum of scores without normalisation; plugins with a shared scorer take one call together."""

    def __init__(self, scorers: Iterable[Weighted]) -> None:
        self._scorers = list(scorers)
        teams: dict[int, _SharedBy] = {}
        self._alone = []
        for scorer in self._scorers:
            found = scorer.plugin.shared_scorer()
            if found is None:
                self._alone.append(scorer)
            else:
                team = teams.setdefault(id(found[0]), _SharedBy(found[0], {}, []))
                team.weights[found[1]] = scorer.weight
                team.members.append(scorer)
        self._teams = list(teams.values())
        self.needs_feasible = any(not scorer.plugin.scores_infeasible_nodes for scorer in self._alone)
        """Whether a plugin's scores are valid for feasible nodes only."""

    def total(self, state: CycleState, pod: Pod, nodes: Nodes, passing: Mask | None = None) -> Raw | None:
        """The weighted sum; None without plugins. `passing`: by position, the nodes that may be feasible, without
        which all are."""
        total: Raw | None = None
        alone = self._alone
        for team, weights, members in self._teams:
            scores = team.total(pod.template, nodes, weights)
            if scores is None:
                alone = [*alone, *members]
            else:
                total = scores if total is None else total + scores
        for plugin, weight in alone:
            if passing is None or plugin.scores_infeasible_nodes:
                scores = plugin.score_nodes(state, pod, nodes)
            else:
                scores = score_passing(plugin, state, pod, nodes, passing)
            total = weighted_sum(total, weight, scores)
        return total


class _SharedBy(NamedTuple):
    team: SharedScorer
    weights: dict[str, int]
    """By part."""
    members: list[Weighted]


def weighted_sum(total: Raw | None, weight: int, scores: Raw) -> Raw:
    weighted = scores if weight == 1 else weight * scores
    return weighted if total is None else total + weighted


def score_passing(plugin: InTreePlugin, state: CycleState, pod: Pod, nodes: Nodes, passing: Mask) -> Raw:
    """The plugin's scores of the nodes that pass, by position; zero for others, which the plugin is not called for."""
    positions = np.flatnonzero(passing)
    if len(positions) == len(nodes):
        return plugin.score_nodes(state, pod, nodes)
    given = plugin.score_nodes(state, pod, nodes.at(positions))
    scores: Raw = np.zeros(len(nodes), dtype=given.dtype)
    scores[positions] = given
    return scores


def score_nodes(profile: Profile, state: CycleState, pod: Pod, feasible: Slots) -> tuple[list[PluginScores], Scores]:
    """The scores plugin by plugin, and their weighted sum, by position in `feasible`."""
    nodes = profile.cluster.nodes.subset(feasible)
    run_pre_scores(profile.pre_scores, state, pod, nodes)
    total: Scores = np.zeros(len(feasible), dtype=np.int64)
    scores = []
    for plugin, weight in profile.scorers:
        if plugin.name in state.skip_score:
            continue
        raw = plugin.score_nodes(state, pod, nodes)
        normalized = normalize(plugin, state, pod, raw, nodes)
        scores.append(PluginScores(plugin.name, weight, raw, normalized))
        total += weight * normalized
    return scores, total


def run_pre_scores(plugins: Iterable[InTreePlugin], state: CycleState, pod: Pod, nodes: Nodes) -> None:
    """Run PreScore. Plugins that return Skip are added to `state.skip_score`."""
    for plugin in plugins:
        if plugin.name in state.skip_score:
            continue
        status = plugin.pre_score(state, pod, nodes)
        if status is None or status.code == Code.Success:
            continue
        if status.code != Code.Skip:
            raise failed_at("preScore", plugin.name, status.message)
        state.skip_score |= {plugin.name}


def normalize(plugin: InTreePlugin, state: CycleState, pod: Pod, raw: Raw, nodes: Nodes) -> Scores:
    """The plugin's scores in 0..100, by its own method or by the predefined one that it names."""
    if plugin.normalize is not None:
        return NORMALIZERS[plugin.normalize](raw, *nodes.extremes(raw))
    if implements(type(plugin), "normalize_nodes"):
        return plugin.normalize_nodes(state, pod, raw, nodes)
    return raw


def score_of(plugin: InTreePlugin, state: CycleState, pod: Pod, info: NodeInfo) -> int:
    """One plugin's score of one node; an error ends the cycle."""
    score = plugin.score(state, pod, info)
    if isinstance(score, Status):
        raise failed_at("score", plugin.name, score.message)
    return int(score)
