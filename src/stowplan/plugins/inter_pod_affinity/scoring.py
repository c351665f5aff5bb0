"""Scoring by preferred terms: the pod's own, and those of existing pods.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan import framework as fwk
from stowplan.cache import Cluster, DomainCounts, LabelColumn
from stowplan.plugins.inter_pod_affinity.sums import TemplateSums

Weighted = list[tuple[int, DomainCounts]]


class AffinityScorer(TemplateSums):
    """The terms that add to the score for pods of a template.

    A required affinity term of an existing pod counts with `hard_weight`. With `own_only`, the terms of existing pods
    are ignored for pods without preferred terms of their own.
    """

    def __init__(self, cluster: Cluster, template: fwk.PodTemplate, hard_weight: int, own_only: bool) -> None:
        self.hard_weight = hard_weight
        self.own: Weighted = []
        self.others: Weighted = []
        super().__init__(cluster, template)
        self.heedless = own_only and not (self.terms.preferred or self.terms.preferred_anti)

    def find_own(self) -> list[DomainCounts]:
        signed = [*self.terms.preferred, *((-weight, term) for weight, term in self.terms.preferred_anti)]
        self.own = [
            (weight, domains)
            for weight, term in signed
            for domains in self.by_domain((self.clause(term),), (term.topology_key,))
        ]
        return [domains for _, domains in self.own]

    def find_others(self) -> list[DomainCounts]:
        matching = [
            (self.hard_weight if kind.required else kind.weight, (kind, live))
            for kind, live in self.pod_class.weighed_by
            if not kind.required or self.hard_weight > 0
        ]
        self.others = [(weight, domains) for weight, entry in matching for domains in self.carriers([entry])]
        return [domains for _, domains in self.others]

    def weighing(self) -> Weighted:
        """The sums that are not zero at present."""
        self.refresh()
        return [entry for many in (self.own, self.others) for entry in many if entry[1].total]


def indifferent(weighing: Weighted, nodes: fwk.Nodes) -> bool:
    """Whether all nodes are in the same domains: their scores are equal, which normalises to 0."""
    for _, domains in weighing:  # noqa: SIM110 (a generator takes twice as long, in every cycle)
        if not _in_one_domain(domains.column, nodes):
            return False
    return True


def _in_one_domain(column: LabelColumn, nodes: fwk.Nodes) -> bool:
    known: tuple[int, bool] | None = nodes.derived.get((indifferent, column.key))
    if known is None or known[0] != column.version:
        ids = column.array[nodes.index].copy()
        least, greatest = nodes.extremes(ids)
        known = (column.version, bool(least == greatest))
        nodes.keep((indifferent, column.key), known)
    return known[1]


def score(weighing: Weighted, slot: int) -> int:
    """The raw score of one node."""
    return int(sum(weight * domains.of(slot) for weight, domains in weighing))


def score_nodes(weighing: Weighted, nodes: fwk.Nodes) -> fwk.Scores:
    """The raw scores of many nodes. Sums are added up by domain before they are spread over the nodes."""
    tables: dict[LabelColumn, NDArray[np.float64]] = {}
    for weight, domains in weighing:
        known = tables.get(domains.column)
        weighted = weight * domains.array
        tables[domains.column] = weighted if known is None else known + weighted
    scores: NDArray[np.float64] = np.zeros(nodes.count)
    for column, table in tables.items():
        scores += table.take(column.array[nodes.index], mode="wrap")
    return scores.astype(np.int64)


def normalized(value: int, least: int, greatest: int) -> int:
    """A raw score on the scale from 0 to 100. The order of operations decides how fractions are truncated."""
    return int(100.0 * ((value - least) / (greatest - least))) if greatest > least else 0


def normalize_nodes(scores: fwk.Scores, nodes: fwk.Nodes) -> fwk.Scores:
    """Vector form of `normalized`, over the range of the scores."""
    least, greatest = nodes.extremes(scores)
    if greatest <= least:
        return np.zeros_like(scores)
    share: NDArray[np.float64] = (scores - least) / float(greatest - least)
    share *= 100.0
    return share.astype(np.int64)
