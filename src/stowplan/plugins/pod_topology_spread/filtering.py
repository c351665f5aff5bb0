"""Filtering by hard constraints: the skew that the pod would cause.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from stowplan import framework as fwk
from stowplan.cache import ABSENT, Cluster
from stowplan.plugins.pod_topology_spread.constraints import Constraints, SpreadConstraint
from stowplan.plugins.pod_topology_spread.eligibility import Eligibilities, Eligibility

_NAME = "PodTopologySpread"
_REASON = "node(s) didn't match pod topology spread constraints"

SKEWED = fwk.Status(fwk.Code.Unschedulable, _REASON, plugin=_NAME)
UNLABELED = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, f"{_REASON} (missing required label)", plugin=_NAME)


class HardConstraint:
    """One hard constraint with its live sums."""

    __slots__ = ("_acceptable", "_bound", "_eligibility", "_revision", "_room", "constraint", "domains")

    def __init__(
        self,
        cluster: Cluster,
        template: fwk.PodTemplate,
        constraint: SpreadConstraint,
        eligibility: Eligibility | None,
    ) -> None:
        self.constraint = constraint
        self._eligibility = eligibility
        eligible = None if self._eligibility is None else self._eligibility.mask()
        counts = constraint.counts(cluster, template.namespace)
        column = cluster.nodes.label(constraint.topology_key)
        self.domains = counts.by_domain(column, eligible, self._eligibility)
        # The pod itself adds to the skew if it matches the selector.
        self._room = constraint.max_skew - constraint.selector.matches(template.labels)
        self._revision = -1
        self._bound = 0
        self._acceptable: fwk.Mask = np.zeros(0, dtype=np.bool_)

    def refresh(self) -> None:
        """Updates the sums to the present nodes."""
        self.domains.refresh(None if self._eligibility is None else self._eligibility.mask())

    @property
    def bound(self) -> int:
        """The highest number of matching pods in a domain that has room for the pod."""
        domains = self.domains
        return self._room + (domains.least if domains.counted >= self.constraint.min_domains else 0)

    @property
    def counts_itself(self) -> bool:
        """Whether the pod matches the selector, so that it adds to the skew."""
        return self._room < self.constraint.max_skew

    def eligible(self) -> fwk.Mask | None:
        """By slot: the nodes that count; None for all nodes that have the topology key."""
        return None if self._eligibility is None else self._eligibility.mask()

    def acceptable(self) -> fwk.Mask:
        """By domain id, whether the domain has room; the last entry, for nodes without the label, is False."""
        if self._revision != self.domains.revision:
            self._revision = self.domains.revision
            self._bound = self.bound
            self._acceptable = self.domains.array <= self._bound
            self._acceptable[ABSENT] = False
        return self._acceptable

    def token(self) -> Hashable:
        """A value that stays equal as long as only nodes that changed can get another result. Domains of one node
        contribute the bound only."""
        acceptable = self.acceptable()
        return self.domains.stamp, self._bound if self.domains.column.unique else acceptable.tobytes()


class SpreadFilter:
    """The hard constraints of a template."""

    __slots__ = ("_nodes", "constraints", "parts")

    def __init__(
        self, cluster: Cluster, template: fwk.PodTemplate, constraints: Constraints, known: Eligibilities
    ) -> None:
        self._nodes = cluster.nodes
        self.constraints = constraints
        found = known.of_all(template, constraints, (c.topology_key for c in constraints))
        self.parts = [
            HardConstraint(cluster, template, constraint, eligibility)
            for constraint, eligibility in zip(constraints, found, strict=True)
        ]

    def refresh(self) -> None:
        for part in self.parts:
            part.refresh()

    def check(self, slot: int) -> fwk.Status | None:
        """Filters one node."""
        for part in self.parts:
            domains = part.domains
            domain = domains.column.values[slot]
            if domain == ABSENT:
                return UNLABELED
            if domains.values[domain] > part.bound:
                return SKEWED
        return None

    def check_nodes(self, nodes: fwk.Nodes) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        """Filters many nodes. The first constraint that a node fails gives the reason."""
        rejected: fwk.Mask | None = None
        for mask, status in self._failures(nodes):
            yield mask if rejected is None else mask & ~rejected, status
            rejected = mask if rejected is None else rejected | mask
            if rejected.all():
                return

    def passing(self, nodes: fwk.Nodes) -> fwk.Mask:
        """The nodes with room by all constraints; read-only."""
        passing: fwk.Mask | None = None
        for part in self.parts:
            mask = part.domains.column.where(part.acceptable(), nodes.index)
            passing = mask if passing is None else passing & mask
            if not part.domains.column.present:
                break
        assert passing is not None
        return passing

    def token(self) -> Hashable:
        self.refresh()
        return tuple(part.token() for part in self.parts)

    def _failures(self, nodes: fwk.Nodes) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        for part in self.parts:
            column = part.domains.column
            if column.present < len(self._nodes):
                yield column.array[nodes.index] == ABSENT, UNLABELED
            skewed = ~part.acceptable()
            skewed[ABSENT] = False
            if skewed.any():
                yield column.where(skewed, nodes.index), SKEWED
