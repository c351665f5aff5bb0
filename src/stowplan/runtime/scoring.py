"""Running PreScore, Score and normalisation over the feasible nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Code, CycleState, Nodes, Pod, Scores, Slots, implements
from stowplan.runtime.normalizing import NORMALIZERS, Raw
from stowplan.runtime.outcomes import failed_at

if TYPE_CHECKING:
    from stowplan.framework import Plugin
    from stowplan.runtime.profile import Profile


class PluginScores(NamedTuple):
    """One plugin's scores of the feasible nodes."""

    plugin: str
    weight: int
    raw: Raw
    normalized: Scores


def score_nodes(profile: Profile, state: CycleState, pod: Pod, feasible: Slots) -> tuple[list[PluginScores], Scores]:
    """The scores plugin by plugin, and their weighted sum, by position in `feasible`."""
    nodes = profile.cluster.nodes.subset(feasible)
    run_pre_scores(profile, state, pod, nodes)
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


def run_pre_scores(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> None:
    for plugin in profile.pre_scores:
        status = plugin.pre_score(state, pod, nodes)
        if status is None or status.code == Code.Success:
            continue
        if status.code != Code.Skip:
            raise failed_at("preScore", plugin.name, status.message)
        state.skip_score.add(plugin.name)


def normalize(plugin: Plugin, state: CycleState, pod: Pod, raw: Raw, nodes: Nodes) -> Scores:
    """The plugin's scores in 0..100, by its own method or by the ready one that it names."""
    if plugin.normalize is not None:
        return NORMALIZERS[plugin.normalize](raw, *nodes.extremes(raw))
    if implements(type(plugin), "normalize_nodes"):
        return plugin.normalize_nodes(state, pod, raw, nodes)
    return raw
