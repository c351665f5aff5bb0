"""Score plugins whose raw scores are mapped linearly to 0..100 over the feasible nodes, in integers."""

from __future__ import annotations

import numpy as np

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin


class MinMaxScore(InTreePlugin):
    """The worst node gets 0 and the best one 100: 100 x (raw - lowest) / (highest - lowest), rounded down. With equal
    raw scores all nodes get 0."""

    def normalize_score(self, state: fwk.CycleState, pod: fwk.Pod, scores: dict[str, int]) -> fwk.Status | None:
        lowest, highest = min(scores.values()), max(scores.values())
        for name, score in scores.items():
            scores[name] = 0 if highest == lowest else (score - lowest) * 100 // (highest - lowest)
        return None

    def normalize_nodes(self, state: fwk.CycleState, pod: fwk.Pod, scores: fwk.Scores, nodes: fwk.Nodes) -> fwk.Scores:
        lowest, highest = nodes.extremes(scores)
        if highest == lowest:
            return np.zeros(len(scores), dtype=np.int64)
        normalized: fwk.Scores = (scores - lowest) * 100 // (highest - lowest)
        return normalized
