"""Filtering by required terms: the pod's own, and the anti-affinity of existing pods.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from stowplan import framework as fwk
from stowplan.cache import ABSENT, Cluster, DomainCounts
from stowplan.plugins.inter_pod_affinity.sums import TemplateSums

_NAME = "InterPodAffinity"

AFFINITY = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, "node(s) didn't match pod affinity rules", plugin=_NAME)
ANTI_AFFINITY = fwk.Status(fwk.Code.Unschedulable, "node(s) didn't match pod anti-affinity rules", plugin=_NAME)
EXISTING_ANTI_AFFINITY = fwk.Status(
    fwk.Code.Unschedulable, "node(s) didn't satisfy existing pods anti-affinity rules", plugin=_NAME
)


class AffinityFilter(TemplateSums):
    """The required terms that apply to pods of a template."""

    def __init__(self, cluster: Cluster, template: fwk.PodTemplate) -> None:
        self.affinity: list[DomainCounts] = []
        """The pods that match all of the template's affinity terms, by the topology key of each."""
        self.anti: list[DomainCounts] = []
        """For each of the template's anti-affinity terms, the pods that match it."""
        self.existing: list[DomainCounts] = []
        """For each anti-affinity term of existing pods that matches the template, the pods that have it."""
        self.matches_itself = False
        super().__init__(cluster, template)

    def find_own(self) -> list[DomainCounts]:
        clauses = [self.clause(term) for term in self.terms.required]
        self.matches_itself = all(clause.matches(self.pod_class) for clause in clauses)
        if clauses:
            self.affinity = self.by_domain(clauses, dict.fromkeys(term.topology_key for term in self.terms.required))
        self.anti = [
            domains
            for term in self.terms.required_anti
            for domains in self.by_domain((self.clause(term),), (term.topology_key,))
        ]
        return [*self.affinity, *self.anti]

    def find_others(self) -> list[DomainCounts]:
        self.existing = self.carriers(self.pod_class.repelled_by)
        return self.existing

    @property
    def idle(self) -> bool:
        """Whether no term applies."""
        if self.affinity or self.anti:
            return False
        return not any(domains.total for domains in self.existing)

    @property
    def first_of_its_kind(self) -> bool:
        """Whether the pod may run in a domain without matching pods, because it matches its own terms and no other pod
        does."""
        if not self.matches_itself:
            return False
        for domains in self.affinity:  # noqa: SIM110 (a generator takes three times as long, in every cycle)
            if domains.total:
                return False
        return True

    def check(self, slot: int) -> fwk.Status | None:
        """Filters one node."""
        if self._class_version != self.pod_class.version:
            self.refresh_others()
        unmatched = False
        for domains in self.affinity:
            domain = domains.column.values[slot]
            if domain == ABSENT:
                return AFFINITY
            if not domains.values[domain]:
                unmatched = True
        if unmatched and not self.first_of_its_kind:
            return AFFINITY
        for domains in self.anti:
            if domains.values[domains.column.values[slot]]:
                return ANTI_AFFINITY
        for domains in self.existing:
            if domains.values[domains.column.values[slot]]:
                return EXISTING_ANTI_AFFINITY
        return None

    def check_nodes(self, nodes: fwk.Nodes) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        """Filters many nodes. The first rule that a node fails gives the reason."""
        rejected: fwk.Mask | None = None
        for mask, status in self._failures(nodes.index):
            yield mask if rejected is None else mask & ~rejected, status
            rejected = mask if rejected is None else rejected | mask
            if rejected.all():
                return

    def token(self) -> Hashable:
        """A value that changes when a domain of several nodes becomes occupied or empty, for any of the terms."""
        if self._namespace_version != self._namespaces.version or self._class_version != self.pod_class.version:
            self.refresh()
        token: list[int] = []
        for domains in self._own:
            token += domains.occupancy()
        for domains in self._others:
            token += domains.occupancy()
        if self.affinity:
            token.append(self.first_of_its_kind)
        return tuple(token)

    def _failures(self, index: slice | fwk.Slots) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        first = self.first_of_its_kind
        for domains in self.affinity:
            wrong = np.zeros(len(domains.array), dtype=np.bool_) if first else domains.array == 0
            wrong[ABSENT] = True
            yield domains.column.where(wrong, index), AFFINITY
        for many, status in ((self.anti, ANTI_AFFINITY), (self.existing, EXISTING_ANTI_AFFINITY)):
            for domains in many:
                if domains.total:
                    yield domains.column.where(domains.array != 0, index), status
