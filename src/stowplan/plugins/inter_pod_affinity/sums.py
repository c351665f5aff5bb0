"""The live sums that stand behind a template's affinity terms, and behind the terms of others that match it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from stowplan import framework as fwk
from stowplan.api import Namespace
from stowplan.cache import AffinityTerm, Clause, Cluster, DomainCounts, PodSelector
from stowplan.cache.selection import Terms, pod_terms


class TemplateSums(ABC):
    """What filter or score keep for a template.

    Sums are live; which of them matter is found out again only where that can have changed: those of own terms when
    namespaces change, those of other pods' terms when such a term appeared or vanished.
    """

    def __init__(self, cluster: Cluster, template: fwk.PodTemplate) -> None:
        self.cluster = cluster
        self.terms = pod_terms(template)
        self.pod_class = cluster.footprint(template).pod_class
        self._namespaces = cluster.stores.of(Namespace)
        self._namespace_version = -1
        self._class_version = -1
        self._own: list[DomainCounts] = []
        self._others: list[DomainCounts] = []

    @abstractmethod
    def find_own(self) -> list[DomainCounts]:
        """Sums for the template's own terms."""

    @abstractmethod
    def find_others(self) -> list[DomainCounts]:
        """Sums for terms of pods on nodes."""

    def refresh(self) -> None:
        """Bring everything up to date with nodes, namespaces and terms."""
        if self._namespace_version != self._namespaces.version:
            self._namespace_version = self._namespaces.version
            self._own = self.find_own()
        self.refresh_others()
        for domains in self._own:
            domains.refresh(None)
        for domains in self._others:
            domains.refresh(None)

    def refresh_others(self) -> None:
        """Notice terms that turned up since, as they do when a what-if places the first pod that carries one."""
        if self._class_version != self.pod_class.version:
            self._class_version = self.pod_class.version
            self._others = self.find_others()

    def clause(self, term: AffinityTerm) -> Clause:
        """The pods that a term of a newcomer means.

        kube-scheduler lists the namespaces that the term's selector selects, yet later asks the selector once more,
        about no labels at all: one that needs no label to be there, `{}` or a NotIn, thus means every namespace.
        """
        if term.namespace_selector.matches({}):
            return Clause(None, term.selector)
        selected = self.cluster.selection.namespaces_matching(term.namespace_selector)
        return Clause(term.namespaces | selected, term.selector)

    def by_domain(self, clauses: Iterable[Clause], topology_keys: Iterable[str]) -> list[DomainCounts]:
        """Sums of the pods that satisfy all clauses, by each of the topology keys."""
        counts = self.cluster.counts_for(PodSelector(tuple(clauses), terminating=True))
        return [counts.by_domain(self.cluster.nodes.label(key)) for key in topology_keys]

    def carriers(self, terms: Terms) -> list[DomainCounts]:
        """Sums of the pods that carry each of the terms."""
        label = self.cluster.nodes.label
        return [
            counts.by_domain(label(kind.term.topology_key)) for kind, live in terms if (counts := live()) is not None
        ]
