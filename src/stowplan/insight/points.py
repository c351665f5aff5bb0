"""The points of the feasible nodes: from scores computed now, or from the record of a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

import numpy as np

from stowplan.framework import DecisionRecord, Scores
from stowplan.framework.explanation import NodePoints, PluginPoints, RankedNode, Standing
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.scoring import PluginScores


class Points(NamedTuple):
    """Totals of the feasible nodes, and the scores that they are made of, by position in `names`."""

    names: Sequence[str]
    total: Scores
    plugins: Sequence[PluginScores]

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> Points:
        """The points of a diagnosis with feasible nodes. A single node gets no points, as in a scheduling cycle."""
        infos = diagnosis.profile.cluster.nodes.infos
        names = [info.name for slot in diagnosis.feasible.tolist() if (info := infos[slot]) is not None]
        if len(names) == 1:
            return cls(names, np.zeros(1, dtype=np.int64), ())
        if not diagnosis.scores:
            diagnosis.score()
        return cls(names, diagnosis.total, tuple(diagnosis.scores))

    @classmethod
    def recorded(cls, decision: DecisionRecord, weights: Mapping[str, int]) -> Points:
        """The points of a recorded decision."""
        names = list(decision.totals) or list(decision.feasible)
        total = np.array([decision.totals.get(name, 0) for name in names], dtype=np.int64)
        scored = dict.fromkeys(plugin for scores in decision.scores.values() for plugin in scores)
        plugins = []
        for plugin in scored:
            scores = [decision.scores[name][plugin] for name in names]
            weight = next((each.weighted // each.normalized for each in scores if each.normalized), None)
            plugins.append(
                PluginScores(
                    plugin,
                    weights.get(plugin, 1) if weight is None else weight,
                    np.array([each.raw for each in scores]),
                    np.array([each.normalized for each in scores], dtype=np.int64),
                )
            )
        return cls(names, total, tuple(plugins))

    def position(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None

    def order(self, first: int | None = None) -> list[int]:
        """Positions by falling total, then by name; all of them, or the first ones."""
        rest = 0 if first is None else max(0, len(self.names) - first)
        if first is None or not rest:
            return sorted(range(len(self.names)), key=lambda each: (-int(self.total[each]), self.names[each]))
        least = np.partition(self.total, rest)[rest]
        above = sorted(
            np.flatnonzero(self.total > least).tolist(), key=lambda each: (-int(self.total[each]), self.names[each])
        )
        equal = np.flatnonzero(self.total == least).tolist()
        return above + nsmallest(first - len(above), equal, key=self.names.__getitem__)

    def best(self) -> list[int]:
        """The positions with the highest total, by name."""
        top = self.total.max()
        return sorted(np.flatnonzero(self.total == top).tolist(), key=self.names.__getitem__)

    def rank(self, position: int) -> int:
        """1 for the highest total; nodes with equal totals have the same rank."""
        return int(np.count_nonzero(self.total > self.total[position])) + 1

    def ranking(self, top: int) -> tuple[RankedNode, ...]:
        return tuple(
            RankedNode(node=self.names[each], points=int(self.total[each]), rank=self.rank(each))
            for each in self.order(top)
        )

    def standing(self, position: int) -> Standing:
        """The rank of a node, and its distance from the best other node."""
        other = next((each for each in self.order(2) if each != position), None)
        points = int(self.total[position])
        return Standing(
            rank=self.rank(position),
            of=len(self.names),
            points=points,
            behind=0 if other is None else int(self.total[other]) - points,
            first="" if other is None else self.names[other],
        )

    def compared(
        self, winner: int, second: int | None, words: Mapping[tuple[str, str], str] = {}
    ) -> tuple[PluginPoints, ...]:
        """Plugin by plugin, the largest weights first; `words` by (plugin, node)."""
        found = []
        for scores in self.plugins:
            ahead = self._of(scores, winner, words)
            behind = None if second is None else self._of(scores, second, words)
            difference = 0 if behind is None else ahead.weighted - behind.weighted
            found.append(
                PluginPoints(
                    plugin=scores.plugin, weight=scores.weight, winner=ahead, second=behind, difference=difference
                )
            )
        return tuple(sorted(found, key=lambda each: -each.winner.weighted))

    def _of(self, scores: PluginScores, position: int, words: Mapping[tuple[str, str], str]) -> NodePoints:
        normalized = int(scores.normalized[position])
        return NodePoints(
            raw=scores.raw[position].item(),
            normalized=normalized,
            weighted=scores.weight * normalized,
            text=words.get((scores.plugin, self.names[position]), ""),
        )
