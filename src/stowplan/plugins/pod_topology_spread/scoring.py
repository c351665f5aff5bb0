"""Scoring by soft constraints: fewer matching pods in a node's domains give a higher score.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan import framework as fwk
from stowplan.cache import ABSENT, Cluster, DomainCounts, LabelColumn, SlotCounts
from stowplan.plugins.pod_topology_spread.constraints import HOSTNAME, Constraints, SpreadConstraint
from stowplan.plugins.pod_topology_spread.eligibility import Eligibilities, Eligibility

_MAX_SCORE = 100
_MAX_TABULATED = 1000
"""Up to this raw score, final scores are looked up in a table: one pass over the nodes instead of five."""

_Floats = NDArray[np.float64]


class SoftConstraint:
    """One soft constraint with its live counts: of the node itself for the hostname, sums by domain for other keys."""

    __slots__ = (
        "_counts_unlabelled",
        "_eligibility",
        "column",
        "counts",
        "domains",
        "empty_value_domain",
        "slack",
        "unlabelled_pods",
    )

    def __init__(
        self,
        cluster: Cluster,
        template: fwk.PodTemplate,
        constraint: SpreadConstraint,
        eligibility: Eligibility | None,
        counts_unlabelled: bool,
    ) -> None:
        self._counts_unlabelled = counts_unlabelled
        self.empty_value_domain = ABSENT
        """The domain of the empty label value, if nodes without the label count to it; else ABSENT."""
        self.unlabelled_pods = 0.0
        """Matching pods on nodes without the label."""
        self.column: LabelColumn = cluster.nodes.label(constraint.topology_key)
        self.counts: SlotCounts = constraint.counts(cluster, template.namespace)
        self.slack = float(constraint.max_skew - 1)
        self._eligibility = eligibility
        self.domains: DomainCounts | None = None
        if constraint.topology_key != HOSTNAME:
            self.domains = self.counts.by_domain(self.column, self._eligible(), self._eligibility)

    def refresh(self) -> None:
        """Updates the sums to the present nodes."""
        if self.domains is None:
            return
        eligible = self._eligible()
        self.domains.refresh(eligible)
        empty_value_domain = self.column.find("") if self._counts_unlabelled else ABSENT
        self.empty_value_domain = (
            empty_value_domain if empty_value_domain >= 0 and self.column.sizes[empty_value_domain] else ABSENT
        )
        if self.empty_value_domain != ABSENT:
            without = self.column.array == ABSENT
            self.unlabelled_pods = float(self.counts.array[without if eligible is None else without & eligible].sum())

    def points(self, slot: int, weight: float) -> float:
        """The constraint's part of a node's raw score."""
        domain = self.column.values[slot]
        if domain == ABSENT:
            return 0.0
        matching = self.counts.values[slot] if self.domains is None else self.domains.of(slot)
        if domain == self.empty_value_domain:
            matching += self.unlabelled_pods
        return matching * weight + self.slack

    def points_of_nodes(self, index: slice | NDArray[np.intp], weight: float, everywhere: bool, out: _Floats) -> None:
        """Vector form of `points`. `everywhere`: all nodes have the key."""
        if self.domains is None:
            np.multiply(self.counts.array[index], weight, out=out)
            out += self.slack
            if not everywhere:
                out *= self.column.array[index] != ABSENT
        else:
            table = self.domains.array.copy()
            if self.empty_value_domain != ABSENT:
                table[self.empty_value_domain] += self.unlabelled_pods
            table *= weight
            table += self.slack
            table[ABSENT] = 0.0
            table.take(self.column.array[index], mode="wrap", out=out)

    def _eligible(self) -> fwk.Mask | None:
        return None if self._eligibility is None else self._eligibility.mask()


class ConstraintWeights(NamedTuple):
    """The weights of the constraints for a set of feasible nodes."""

    versions: tuple[int, ...]
    weights: tuple[float, ...]
    ignored: fwk.Mask | None


class SpreadScorer:
    """The soft constraints of a template."""

    def __init__(
        self,
        cluster: Cluster,
        template: fwk.PodTemplate,
        constraints: Constraints,
        all_keys: bool,
        known: Eligibilities,
    ) -> None:
        self._nodes = cluster.nodes
        self._all_keys = all_keys
        self.constraints = constraints
        keys = tuple(constraint.topology_key for constraint in constraints)
        self._sort = (keys, all_keys)
        found = known.of_all(template, constraints, keys if all_keys else ())
        self.parts = [
            SoftConstraint(cluster, template, constraint, eligibility, not all_keys)
            for constraint, eligibility in zip(constraints, found, strict=True)
        ]
        self._buffers = np.empty((2, 0))
        self._tabulated: tuple[tuple[int, int], fwk.Scores] = ((-1, -1), np.zeros(0, dtype=np.int64))

    def refresh(self) -> None:
        for part in self.parts:
            part.refresh()

    def weigh(self, nodes: fwk.Nodes) -> ConstraintWeights:
        """The weight of each constraint, by the number of domains of the feasible nodes."""
        versions = tuple(part.column.version for part in self.parts)
        known: ConstraintWeights | None = nodes.derived.get(self._sort)
        if known is None or known.versions != versions:
            ignored = self._ignored(nodes)
            sizes = (self._domains_among(part, nodes, ignored) for part in self.parts)
            known = ConstraintWeights(versions, tuple(math.log(size + 2) for size in sizes), ignored)
            nodes.keep(self._sort, known)
        return known

    def ignores(self, slot: int) -> bool:
        """Whether the node is not scored because it lacks a topology key."""
        return self._all_keys and any(part.column.values[slot] == ABSENT for part in self.parts)

    def score(self, slot: int, weighing: ConstraintWeights) -> int:
        """The raw score of one node: higher for more matching pods."""
        if self.ignores(slot):
            return 0
        points = sum(part.points(slot, weight) for part, weight in zip(self.parts, weighing.weights, strict=True))
        return math.floor(points + 0.5)

    def score_nodes(self, nodes: fwk.Nodes, weighing: ConstraintWeights) -> fwk.Scores:
        """The raw scores of many nodes."""
        total, more = self._rows(nodes.count)
        for part, weight in zip(self.parts, weighing.weights, strict=True):
            out = total if part is self.parts[0] else more
            part.points_of_nodes(nodes.index, weight, part.column.present == len(self._nodes), out)
            if out is more:
                total += more
        total += 0.5
        scores: fwk.Scores = total.astype(np.int64)
        if weighing.ignored is not None:
            scores[weighing.ignored] = 0
        return scores

    def normalize_nodes(self, scores: fwk.Scores, nodes: fwk.Nodes, weighing: ConstraintWeights) -> fwk.Scores:
        """Raw scores reversed, on the scale from 0 to 100."""
        ignored = weighing.ignored
        if ignored is not None:
            scored = np.flatnonzero(~ignored)
            scored = scored if nodes.holes is None else np.setdiff1d(scored, nodes.holes)
            scores = np.where(ignored, scores[scored[0]] if len(scored) else 0, scores)
        least, greatest = nodes.extremes(scores)
        if greatest <= _MAX_TABULATED:
            # Nodes that are not meant may have any score: their result is not read.
            final = self._table(int(least), int(greatest)).take(scores, mode="clip")
        else:
            # Whole numbers far below 2^53: a truncated float division equals the integer division.
            share = self._rows(nodes.count)[0]
            np.copyto(share, scores)
            share *= -_MAX_SCORE
            share += float(_MAX_SCORE * (greatest + least))
            share /= float(greatest)
            final = share.astype(np.int64)
        if ignored is not None:
            final[ignored] = 0
        return final

    def _table(self, least: int, greatest: int) -> fwk.Scores:
        """The final score by raw score. Kept, since the extremes differ from cycle to cycle only now and then."""
        if self._tabulated[0] != (least, greatest):
            raw = np.arange(greatest + 1)
            final = _MAX_SCORE * (greatest + least - raw) // greatest if greatest else np.array([_MAX_SCORE])
            self._tabulated = ((least, greatest), final)
        return self._tabulated[1]

    def _ignored(self, nodes: fwk.Nodes) -> fwk.Mask | None:
        """The nodes that are not scored because they lack a topology key; None if there are none."""
        if not self._all_keys or all(part.column.present == len(self._nodes) for part in self.parts):
            return None
        ignored: fwk.Mask = np.zeros(nodes.count, dtype=np.bool_)
        for part in self.parts:
            ignored |= part.column.array[nodes.index] == ABSENT
        return ignored

    def _domains_among(self, part: SoftConstraint, nodes: fwk.Nodes, ignored: fwk.Mask | None) -> int:
        """The number of domains of the nodes, nodes without the label being one; for the hostname, the number of
        nodes."""
        column = part.column
        scored = None if ignored is None else ~ignored
        if scored is not None and nodes.holes is not None:
            scored[nodes.holes] = False
        if part.domains is None:
            return nodes.meant if scored is None else int(np.count_nonzero(scored))
        if scored is None and isinstance(nodes.index, slice) and part.empty_value_domain == ABSENT:
            absent = len(self._nodes) - column.present
            if len(self._nodes) - nodes.meant < min(size for size in (*column.sizes, absent) if size):
                return column.occupied + (absent > 0)  # Fewer nodes are left out than any domain has.
        ids = column.array[nodes.index] + 1
        if part.empty_value_domain != ABSENT:
            ids[ids == 0] = part.empty_value_domain + 1
        if scored is not None:
            return int(np.count_nonzero(np.bincount(ids[scored])))
        numbers = np.bincount(ids)
        if nodes.holes is not None:
            numbers -= np.bincount(ids[nodes.holes], minlength=len(numbers))
        return int(np.count_nonzero(numbers))

    def _rows(self, count: int) -> _Floats:
        """Two rows of scratch space, kept from cycle to cycle."""
        if self._buffers.shape[1] != count:
            self._buffers = np.empty((2, count))
        return self._buffers


def normalized(score: int, least: int, greatest: int) -> int:
    """Scalar form of `normalize_nodes`, for a node that is not ignored."""
    return _MAX_SCORE * (greatest + least - score) // greatest if greatest else _MAX_SCORE
