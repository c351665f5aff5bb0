"""Pod classes, the selectors that count them, and the affinity terms that pods carry.

All pods with equal namespace and labels form a class. Which selectors match a class, and which terms of running pods
match it, is computed once for each pair; after that, a pod that comes or goes adds to the counts by plain loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary, ref

from stowplan.api import PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm
from stowplan.api.selectors import Selector, SelectorError, compile_label_selector
from stowplan.cache.counts import SlotCounts
from stowplan.cache.interning import WeakTable
from stowplan.framework import PodTemplate


class Clause(NamedTuple):
    """Pods of some namespaces (None: of all) that a label selector matches."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, pod_class: PodClass) -> bool:
        if self.namespaces is not None and pod_class.namespace not in self.namespaces:
            return False
        return self.selector.matches(pod_class.labels)


class PodSelector(NamedTuple):
    """Pods that satisfy every clause; terminating pods count only if `terminating` is set."""

    clauses: tuple[Clause, ...]
    terminating: bool
    settled: bool = True
    """False if only pods count that a what-if adds or removes."""

    def matches(self, pod_class: PodClass) -> bool:
        return all(clause.matches(pod_class) for clause in self.clauses)


class AffinityTerm(NamedTuple):
    """A compiled pod affinity term of a running pod, to be matched with incoming pods."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector

    def matches(self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


def compile_term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    """Compile a term of a pod in the namespace; raises SelectorError where a selector is malformed."""
    named = frozenset(term.namespaces)
    if not named and term.namespace_selector is None:
        named = frozenset((namespace,))
    return AffinityTerm(
        term.topology_key,
        named,
        compile_label_selector(term.namespace_selector),
        compile_label_selector(term.label_selector),
    )


class TermKind(NamedTuple):
    """The effect of a running pod's term on an incoming pod that it matches: reject, attract, or score."""

    required: bool
    anti: bool
    weight: int
    term: AffinityTerm

    @property
    def repels(self) -> bool:
        return self.required and self.anti


_MIN_SWEPT_ENTRIES = 16
"""Selectors and terms that are gone are swept out when a list longer than this has doubled."""

Selectors = list[tuple[PodSelector, ref[SlotCounts]]]
Terms = list[tuple[TermKind, ref[SlotCounts]]]


class PodClass:
    """The pods of one namespace with one set of labels: the selectors that match them, and their nodes."""

    __slots__ = (
        "__weakref__",
        "_max_selectors",
        "_max_terms",
        "by_slot",
        "labels",
        "namespace",
        "repelled_by",
        "selectors",
        "terminating_by_slot",
        "version",
        "weighed_by",
    )

    def __init__(self, namespace: str, labels: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.selectors: Selectors = []
        self.repelled_by: Terms = []
        """Required anti-affinity terms of running (or once running) pods that match pods of this class."""
        self.weighed_by: Terms = []
        """The same for terms that score: required affinity and all preferred ones."""
        self.version = 0
        """Grows when a term comes or goes."""
        self.by_slot: dict[int, int] = {}
        self.terminating_by_slot: dict[int, int] = {}
        self._max_selectors = self._max_terms = _MIN_SWEPT_ENTRIES

    def select(self, selector: PodSelector, counts: SlotCounts) -> None:
        """Add a selector that matches pods of this class."""
        self.selectors.append((selector, ref(counts)))
        if len(self.selectors) > self._max_selectors:
            self.selectors = [entry for entry in self.selectors if entry[1]() is not None]
            self._max_selectors = max(_MIN_SWEPT_ENTRIES, 2 * len(self.selectors))

    def add_term(self, kind: TermKind, counts: SlotCounts) -> None:
        """Add a term that matches pods of this class."""
        (self.repelled_by if kind.repels else self.weighed_by).append((kind, ref(counts)))
        self.version += 1
        terms = len(self.repelled_by) + len(self.weighed_by)
        if terms <= _MIN_SWEPT_ENTRIES or terms > self._max_terms:
            self.meet([*self.repelled_by, *self.weighed_by])
            self._max_terms = 2 * (len(self.repelled_by) + len(self.weighed_by))

    def meet(self, terms: Terms) -> None:
        """Set the terms that match pods of this class, without the terms that no pod carries any more."""
        alive = [(kind, live) for kind, live in terms if live() is not None]
        self.repelled_by = [entry for entry in alive if entry[0].repels]
        self.weighed_by = [entry for entry in alive if not entry[0].repels]
        self.version += 1


class Selection:
    """All classes, selectors and terms of one cluster, and the counts between them.

    Nothing here keeps anything alive: a class lives as long as a template of its pods, the counts of a selector as long
    as the plugin that uses them, and those of a term as long as a template that carries it.
    """

    def __init__(self) -> None:
        self.size = 0
        self._classes: WeakTable[tuple[str, frozenset[tuple[str, str]]], PodClass] = WeakTable()
        self._counts: WeakValueDictionary[PodSelector, SlotCounts] = WeakValueDictionary()
        self._terms: WeakValueDictionary[TermKind, SlotCounts] = WeakValueDictionary()
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self.moves: Callable[[], Iterable[tuple[PodClass, int, int]]] = tuple
        """The changes of the what-if under way. Counts that begin meanwhile show them, since its rollback takes them
        back."""
        self.rules_version = 0
        """Grows with every change, other than of pods and nodes, that may end the idleness of a plugin: a term that no
        pod carried before, a namespace, and (by the cluster) any other object."""

    def grow(self, size: int) -> None:
        self.size = size
        for counts in (*self._counts.values(), *self._terms.values()):
            counts.grow(size)

    def sweep(self) -> None:
        """Drop the entries of classes that no template uses any more."""
        self._classes.sweep()

    def class_of(self, namespace: str, labels: Mapping[str, str]) -> PodClass:
        key = (namespace, frozenset(labels.items()))
        pod_class = self._classes.get(key)
        if pod_class is None:
            pod_class = PodClass(namespace, dict(labels))
            self._classes.put(key, pod_class)
            if self._counts:
                pod_class.selectors = [(s, ref(counts)) for s, counts in self._counts.items() if s.matches(pod_class)]
            if self._terms:
                pod_class.meet(self._matching_terms(pod_class))
        return pod_class

    def counts_for(self, selector: PodSelector) -> SlotCounts:
        """The live counts of the pods that a selector matches, for as long as the caller keeps them."""
        counts = self._counts.get(selector)
        if counts is None:
            counts = SlotCounts(self.size)
            self._counts[selector] = counts
            for pod_class in self._classes.values():
                if selector.matches(pod_class):
                    pod_class.select(selector, counts)
                    if selector.settled:
                        _tally(counts, pod_class.by_slot)
                        if selector.terminating:
                            _tally(counts, pod_class.terminating_by_slot)
            for pod_class, slot, amount in self.moves():
                if selector.matches(pod_class):
                    counts.add(slot, amount)
        return counts

    def term_counts(self, kind: TermKind) -> SlotCounts:
        """The live counts of the pods that carry a term, for as long as the caller keeps them."""
        counts = self._terms.get(kind)
        if counts is None:
            counts = SlotCounts(self.size)
            self._terms[kind] = counts
            self.rules_version += 1
            for pod_class in self._classes.values():
                if self._term_matches(kind, pod_class):
                    pod_class.add_term(kind, counts)
        return counts

    def pods_by_namespace(self, selectors: Iterable[Selector]) -> dict[str, int]:
        """The number of pods on nodes that match all selectors, by namespace."""
        wanted = list(selectors)
        found: dict[str, int] = {}
        for pod_class in self._classes.values():
            if all(selector.matches(pod_class.labels) for selector in wanted):
                number = sum(pod_class.by_slot.values()) + sum(pod_class.terminating_by_slot.values())
                if number:
                    found[pod_class.namespace] = found.get(pod_class.namespace, 0) + number
        return found

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """A namespace's labels became known, changed, or (None) are gone with it."""
        if labels is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels
        self.rules_version += 1
        for pod_class in self._classes.values():
            if pod_class.namespace == name:
                pod_class.meet(self._matching_terms(pod_class))

    def namespaces_matching(self, selector: Selector) -> frozenset[str]:
        return frozenset(name for name, labels in self._namespaces.items() if selector.matches(labels))

    def put(self, pod_class: PodClass, slot: int, amount: int, terminating: bool, what_if: bool) -> None:
        """Pods of the class came to the node (or, with a negative amount, left it).

        In a what-if, terminating pods count for every selector: kube-scheduler does not check their state again
        when its dry run takes them away and puts them back.
        """
        if not what_if:
            where = pod_class.terminating_by_slot if terminating else pod_class.by_slot
            left = where.get(slot, 0) + amount
            if left:
                where[slot] = left
            else:
                where.pop(slot, None)
        gone = False
        for selector, live in pod_class.selectors:
            if what_if or (selector.settled and (selector.terminating or not terminating)):
                counts = live()
                if counts is None:
                    gone = True
                else:
                    counts.add(slot, amount)
        if gone:
            pod_class.selectors = [entry for entry in pod_class.selectors if entry[1]() is not None]

    def _matching_terms(self, pod_class: PodClass) -> Terms:
        return [(kind, ref(counts)) for kind, counts in self._terms.items() if self._term_matches(kind, pod_class)]

    def _term_matches(self, kind: TermKind, pod_class: PodClass) -> bool:
        labels = self._namespaces.get(pod_class.namespace, {})
        return kind.term.matches(pod_class.namespace, labels, pod_class.labels)


class PodTerms(NamedTuple):
    """The compiled affinity terms of a pod, with the errors of the malformed ones.

    As for kube-scheduler, one malformed term spoils its whole list, but not the other lists.
    """

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[tuple[int, AffinityTerm], ...] = ()
    """(weight, term), with weights as written: of preferred terms of either kind."""
    preferred_anti: tuple[tuple[int, AffinityTerm], ...] = ()
    errors: tuple[str, ...] = ()

    def kinds(self) -> list[TermKind]:
        """The effect of each term on later pods."""
        return [
            *(TermKind(True, False, 0, term) for term in self.required),
            *(TermKind(True, True, 0, term) for term in self.required_anti),
            *(TermKind(False, False, weight, term) for weight, term in self.preferred),
            *(TermKind(False, True, -weight, term) for weight, term in self.preferred_anti),
        ]


_NO_TERMS = PodTerms()


def pod_terms(template: PodTemplate) -> PodTerms:
    """The compiled affinity terms of pods of the template."""
    return _NO_TERMS if template.spec.affinity is None else template.derive(PodTerms, _compile_terms)


def carried_terms(template: PodTemplate) -> list[TermKind]:
    """The affinity terms of a pod that matter to later pods; malformed terms are left out."""
    return [] if template.spec.affinity is None else pod_terms(template).kinds()


def _compile_terms(template: PodTemplate) -> PodTerms:
    affinity = template.spec.affinity
    near = (affinity and affinity.pod_affinity) or PodAffinity()
    far = (affinity and affinity.pod_anti_affinity) or PodAntiAffinity()
    errors: list[str] = []

    def compiled(of: str, terms: Iterable[PodAffinityTerm]) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(compile_term(term, template.namespace) for term in terms)
        except SelectorError as error:
            errors.append(f"{of}: {error}")
            return ()

    def weighted(of: str, terms: tuple[WeightedPodAffinityTerm, ...]) -> tuple[tuple[int, AffinityTerm], ...]:
        # Without strict=True: a malformed list compiles to nothing.
        return tuple(zip((t.weight for t in terms), compiled(of, (t.pod_affinity_term for t in terms)), strict=False))

    return PodTerms(
        compiled("requiredAffinityTerms", near.required_during_scheduling_ignored_during_execution),
        compiled("requiredAntiAffinityTerms", far.required_during_scheduling_ignored_during_execution),
        weighted("preferredAffinityTerms", near.preferred_during_scheduling_ignored_during_execution),
        weighted("preferredAntiAffinityTerms", far.preferred_during_scheduling_ignored_during_execution),
        tuple(errors),
    )


def _tally(counts: SlotCounts, by_slot: Mapping[int, int]) -> None:
    for slot, amount in by_slot.items():
        counts.add(slot, amount)
