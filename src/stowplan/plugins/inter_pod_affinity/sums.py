"""The live sums for a template's affinity terms, and for the terms of existing pods that match the template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from stowplan import framework as fwk
from stowplan.api import Namespace
from stowplan.cache import AffinityTerm, Clause, Cluster, DomainCounts, PodSelector
from stowplan.cache.selection import Terms, pod_terms


class TemplateSums(ABC):
    """The sums that filtering or scoring keeps for a template.

    The sums are live. Which of them apply is determined again only when that can have changed: for the template's own
    terms when namespaces change, for the terms of existing pods when such a term appeared or vanished.
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
        """The sums for the template's own terms."""

    @abstractmethod
    def find_others(self) -> list[DomainCounts]:
        """The sums for terms of existing pods."""

    def refresh(self) -> None:
        """Updates everything to the present nodes, namespaces and terms."""
        if self._namespace_version != self._namespaces.version:
            self._namespace_version = self._namespaces.version
            self._own = self.find_own()
        self.refresh_others()
        for domains in self._own:
            domains.refresh(None)
        for domains in self._others:
            domains.refresh(None)

    def refresh_others(self) -> None:
        """Adds terms that appeared since the last refresh, for example when a what-if adds the first pod with one."""
        if self._class_version != self.pod_class.version:
            self._class_version = self.pod_class.version
            self._others = self.find_others()

    def clause(self, term: AffinityTerm) -> Clause:
        """The pods that a term of the incoming pod selects.

        kube-scheduler lists the namespaces that the term's namespace selector matches, but later matches the selector
        against an empty set of labels as well. A selector that matches without any label, such as `{}` or NotIn,
        therefore selects every namespace. Releases before v1.34 do so for `{}` only.
        """
        by_labels = self.cluster.release.rules.namespace_selector_without_labels
        if term.namespace_selector.matches({}) and (by_labels or term.namespace_selector.empty):
            return Clause(None, term.selector)
        selected = self.cluster.selection.namespaces_matching(term.namespace_selector)
        return Clause(term.namespaces | selected, term.selector)

    def by_domain(self, clauses: Iterable[Clause], topology_keys: Iterable[str]) -> list[DomainCounts]:
        """Sums of the pods that match all clauses, for each topology key."""
        counts = self.cluster.counts_for(PodSelector(tuple(clauses), terminating=True))
        return [counts.by_domain(self.cluster.nodes.label(key)) for key in topology_keys]

    def carriers(self, terms: Terms) -> list[DomainCounts]:
        """Sums of the pods that have each of the terms."""
        label = self.cluster.nodes.label
        return [
            counts.by_domain(label(kind.term.topology_key)) for kind, live in terms if (counts := live()) is not None
        ]
