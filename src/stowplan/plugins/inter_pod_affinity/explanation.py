"""Rejections by pod affinity and anti-affinity in words: which pods, in which domain, whose rule, and the smallest
changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import framework as fwk
from stowplan.api import PodAffinityTerm, WeightedPodAffinityTerm, codec
from stowplan.api.selector_words import listed, pods_in_words, selector_in_words, topology_in_words
from stowplan.api.selectors import EVERYTHING
from stowplan.cache import ABSENT, AffinityTerm, Clause, Cluster, DomainCounts, PodSelector
from stowplan.cache.selection import TermKind, carried_terms
from stowplan.plugins.base import leave, matching_labels, pods_in_domain
from stowplan.plugins.inter_pod_affinity.filtering import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    AffinityFilter,
)
from stowplan.plugins.inter_pod_affinity.scoring import AffinityScorer

_EFFORT = 5.0
_EFFORT_START = 6.0
_MAX_NAMED = 3
_MAX_LEAVING = 20
_MAX_DOMAINS_IN_FACTS = 20
_PREFERRED_WEIGHT = 100
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class AffinityExplanation:
    """The refusals of one pod, made once for each domain."""

    def __init__(self, cluster: Cluster, rules: AffinityFilter, pod: fwk.Pod) -> None:
        self._cluster = cluster
        self._rules = rules
        self._pod = pod
        self._elsewhere: list[tuple[str, int]] | None = None
        self._without: dict[int, list[DomainCounts]] = {}
        self._far_from: dict[tuple[int, int], fwk.Refusal] = {}
        self._pods: dict[tuple[DomainCounts, int], list[fwk.Pod]] = {}
        self._notes: tuple[str, ...] | None = None

    def refusals(self, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        """All rules that reject the node, in the order of the filter."""
        self._rules.refresh_others()
        yield from self._unmet(node)
        carried = [(kind, domains) for kind, domains in self._carried() if domains.of(node.slot)]
        shared = {kind.term for kind, _ in carried}
        own = set()
        for term, domains in zip(self._rules.terms.required_anti, self._rules.anti, strict=True):
            if domains.of(node.slot):
                own.add(term)
                yield self._own(term, domains, node, shared=term in shared)
        for kind, domains in carried:
            if kind.term not in own:
                yield self._others(kind, domains, node)

    # Required affinity
    def _unmet(self, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        rules = self._rules
        unmet = [
            (number, domains)
            for number, domains in enumerate(rules.affinity)
            if domains.column.values[node.slot] == ABSENT or (not domains.of(node.slot) and not rules.first_of_its_kind)
        ]
        changes = tuple(self._attracting(unmet[0][1], node)) if unmet else ()
        for number, domains in unmet:
            domain = domains.column.values[node.slot]
            if domain == ABSENT:
                yield replace(self._unlabelled(domains), changes=changes)
                continue
            known = self._far_from.get((number, domain))
            if known is None:
                known = self._far_from[number, domain] = self._far(domains, domain)
            yield replace(known, changes=changes)

    def _unlabelled(self, domains: DomainCounts) -> fwk.Refusal:
        key = domains.column.key
        return fwk.Refusal(
            id="pod-affinity.unmet",
            reasons=AFFINITY.reasons,
            text=f"has no label {key}, by which it would have to be near {self._selector()}",
            wanted=f"near {self._selector()}",
            there=f"no label {key}",
            rule=self._near_rule(key),
            facts={"topologyKey": key, "selector": self._selector(), "matching": domains.counts.total},
        )

    def _far(self, domains: DomainCounts, domain: int) -> fwk.Refusal:
        key, word = domains.column.key, topology_in_words(domains.column.key)
        name = domains.column.texts[domain]
        elsewhere = {text: count for text, count in domains.by_name().items() if count}
        first = sorted(elsewhere, key=lambda each: (-elsewhere[each], each))
        where = f" ({', '.join(f'{each} {elsewhere[each]:,}' for each in first[:_MAX_NAMED])})" if first else ""
        more = f" and {len(first) - _MAX_NAMED:,} more {word}s)" if len(first) > _MAX_NAMED else ""
        if more:
            where = where[:-1] + more
        place = "on the node" if word == "node" else f"in its {word}"
        facts: dict[str, Any] = {
            "topologyKey": key,
            "selector": self._selector(),
            "namespaces": self._namespaces(),
            "domain": name,
            "matching": domains.counts.total,
            "domains": {each: elsewhere[each] for each in first[:_MAX_DOMAINS_IN_FACTS]},
        }
        return fwk.Refusal(
            id="pod-affinity.unmet",
            reasons=AFFINITY.reasons,
            text=f"wants a pod with {self._selector()} {place}; {name} has none{where}",
            wanted=f"near {self._selector()}",
            there=f"none in {name}",
            rule=self._near_rule(key),
            facts=facts,
            notes=self._traps(domains),
        )

    def _near_rule(self, key: str) -> str:
        word = topology_in_words(key)
        return f"{self._selector()} is {'there' if word == 'node' else f'in the {word}'}"

    def _selector(self) -> str:
        """The pods that all required terms select together."""
        return _selectors_in_words(self._rules.terms.required)

    def _namespaces(self) -> list[str]:
        found = [self._rules.clause(term).namespaces for term in self._rules.terms.required]
        known = [names for names in found if names is not None]
        return sorted(frozenset.intersection(*known)) if known else ["*"]

    def _attracting(self, domains: DomainCounts, node: fwk.NodeInfo) -> Iterator[fwk.Change]:
        """Changes that could satisfy all terms on the node; `domains` are those of an unmet one."""
        terms = self._rules.terms.required
        if not domains.counts.total:
            yield from self._from_namespaces()
        for number in range(len(terms)) if len(terms) > 1 else ():
            if self._met_without(number, node):
                yield from self._prefer("podAffinity", [number])
        yield from self._prefer("podAffinity", range(len(terms)))
        yield from self._start(domains, node)

    def _met_without(self, number: int, node: fwk.NodeInfo) -> bool:
        """Whether the node satisfies the other terms."""
        rest = [term for position, term in enumerate(self._rules.terms.required) if position != number]
        if number not in self._without:
            clauses = [self._rules.clause(term) for term in rest]
            self._without[number] = self._rules.by_domain(clauses, dict.fromkeys(term.topology_key for term in rest))
        sums = self._without[number]
        if any(domains.column.values[node.slot] == ABSENT for domains in sums):
            return False
        return all(domains.of(node.slot) for domains in sums) or not any(domains.total for domains in sums)

    def _start(self, domains: DomainCounts, node: fwk.NodeInfo) -> Iterator[fwk.Change]:
        """A pod that all terms match, on the node itself; not where no single pod could match them."""
        terms, namespaces = self._rules.terms.required, self._namespaces()
        labels = {key: value for term in terms for key, value in matching_labels(term.selector).items()}
        if not namespaces or not all(term.selector.matches(labels) for term in terms):
            return
        if any(each.column.values[node.slot] == ABSENT for each in self._rules.affinity):
            return
        own = {self._pod.namespace, "*"} & set(namespaces)
        key, name = domains.column.key, domains.column.texts[domains.column.values[node.slot]]
        started = fwk.StartingPods(
            number=1,
            namespace=self._pod.namespace if own else namespaces[0],
            labels=labels,
            topology_key=key,
            domain=name,
            node=node.name,
        )
        text = f"1 pod with {self._selector()} in {name}"
        yield fwk.Change(kind="start", on="cluster", text=text, effort=_EFFORT_START + 1, starts=(started,))

    def _from_namespaces(self) -> Iterator[fwk.Change]:
        """The terms about the namespace that has most matching pods."""
        if others := self._in_other_namespaces():
            best = others[0][0]
            base = f"/spec/affinity/podAffinity/{_REQUIRED}"
            numbers = range(len(self._rules.terms.required))
            patch = tuple(fwk.PatchOperation("add", f"{base}/{number}/namespaces", [best]) for number in numbers)
            yield fwk.Change(kind="affinity", on="pod", text=f"namespaces: [{best}]", effort=_EFFORT, patch=patch)

    def _in_other_namespaces(self) -> list[tuple[str, int]]:
        """The namespaces with pods that all terms would match there, with their numbers, the most first."""
        if self._elsewhere is None:
            terms = self._rules.terms.required
            wanted = [self._rules.clause(term).namespaces for term in terms]
            found = self._cluster.selection.pods_by_namespace(term.selector for term in terms)
            others = [
                (name, number)
                for name, number in found.items()
                if any(names is not None and name not in names for names in wanted)
            ]
            self._elsewhere = sorted(others, key=lambda each: (-each[1], each[0]))
        return self._elsewhere

    def _traps(self, domains: DomainCounts) -> tuple[str, ...]:
        if self._notes is None:
            self._notes = tuple(self._find_traps(domains))
        return self._notes

    def _find_traps(self, domains: DomainCounts) -> Iterator[str]:
        terms = self._rules.terms.required
        total = domains.counts.total
        if total > domains.total:
            key = domains.column.key
            number = total - domains.total
            yield f"{pods_in_words(number)} with {self._selector()} {_is(number)} on nodes without the label {key}."
        if total:
            return
        if len(terms) > 1:
            parts = [f"{self._count(term):,} with {selector_in_words(term.selector)}" for term in terms]
            if any(self._count(term) for term in terms):
                yield f"One pod must match all {len(terms)} terms; there are {listed(parts)}, none with all of them."
        for name, number in self._in_other_namespaces()[:1]:
            match = "matches" if number == 1 else "match"
            yield f"{pods_in_words(number)} {match} {self._selector()} in namespace {name}."

    def _count(self, term: AffinityTerm) -> int:
        selector = PodSelector((self._rules.clause(term),), terminating=True)
        return self._cluster.counts_for(selector).total

    # Anti-affinity
    def _own(self, term: AffinityTerm, domains: DomainCounts, node: fwk.NodeInfo, *, shared: bool) -> fwk.Refusal:
        """`shared`: pods there have the same rule, as the replicas of a workload do, so that it is not enough for this
        pod to give up its own."""
        clause = self._rules.clause(term)
        pods = self._pods_near(domains, node, lambda template: _matches(clause, template))
        selector, word = selector_in_words(term.selector), topology_in_words(term.topology_key)
        name = domains.column.texts[domains.column.values[node.slot]]
        count = max(len(pods), int(domains.of(node.slot)))
        there = f"{pods[0].key} is there" if count == 1 else f"{count:,} are there, such as {pods[0].key}"
        if word != "node":
            there = there.replace("there", f"in {name}", 1)
        changes = () if shared else self._prefer("podAntiAffinity", self._broken(node))
        return fwk.Refusal(
            id="anti-affinity.own",
            reasons=ANTI_AFFINITY.reasons,
            text=f"must not share a {word} with {selector}, and {there}",
            wanted=f"no {selector} {'there' if word == 'node' else f'in the {word}'}",
            there=f"{pods[0].key}" + (f" and {count - 1:,} more" if count > 1 else ""),
            facts={
                "topologyKey": term.topology_key,
                "selector": selector,
                "domain": name,
                "count": count,
                "pods": [pod.key for pod in pods[:_MAX_NAMED]],
            },
            changes=(*changes, *self._leaving(pods)),
        )

    def _broken(self, node: fwk.NodeInfo) -> list[int]:
        """The positions of the pod's anti-affinity terms that reject the node: they are made preferred together."""
        return [number for number, domains in enumerate(self._rules.anti) if domains.of(node.slot)]

    def _carried(self) -> Iterator[tuple[TermKind, DomainCounts]]:
        """The anti-affinity terms of existing pods that match the pod, with the sums of the pods that have them."""
        for kind, live in self._rules.pod_class.repelled_by:
            counts = live()
            if counts is not None:
                domains = counts.by_domain(self._cluster.nodes.label(kind.term.topology_key))
                yield kind, domains

    def _pods_near(
        self, domains: DomainCounts, node: fwk.NodeInfo, matches: Callable[[fwk.PodTemplate], bool]
    ) -> list[fwk.Pod]:
        """The counted pods of the node's domain, those on the node first; of more than can leave, the first ones."""
        domain = domains.column.values[node.slot]
        pods = self._pods.get((domains, domain))
        if pods is None:
            found = pods_in_domain(self._cluster, domains, domain, matches)
            pods = sorted(found, key=lambda pod: pod.key)[: _MAX_LEAVING + 1]
            self._pods[domains, domain] = pods
        if not domains.counts.values[node.slot]:
            return pods
        here = [pod for pod in node.pods.values() if matches(pod.template)]
        return [*sorted(here, key=lambda pod: pod.key), *(pod for pod in pods if pod.node_name != node.name)]

    def _others(self, kind: TermKind, domains: DomainCounts, node: fwk.NodeInfo) -> fwk.Refusal:
        pods = self._pods_near(domains, node, lambda template: kind in carried_terms(template))
        carrier, word = pods[0], topology_in_words(kind.term.topology_key)
        owner = carrier.template.controller
        workload = "" if owner is None else f"{owner.kind}/{owner.name}"
        selector = selector_in_words(kind.term.selector)
        name = domains.column.texts[domains.column.values[node.slot]]
        who = f"{carrier.key} ({workload})" if workload else carrier.key
        where = "on the node" if carrier.node_name == node.name else f"in the same {word}"
        count = max(len(pods), int(domains.of(node.slot)))
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        return fwk.Refusal(
            id="anti-affinity.others",
            reasons=EXISTING_ANTI_AFFINITY.reasons,
            text=f"{who}, {where}{more}, must not share a {word} with {selector}: its rule, not this pod's",
            wanted=f"no pod that keeps {selector} away",
            there=carrier.key + more,
            facts={
                "topologyKey": kind.term.topology_key,
                "selector": selector,
                "domain": name,
                "carrier": carrier.key,
                "workload": workload,
                "node": carrier.node_name,
                "count": count,
            },
            changes=tuple(self._leaving(pods)),
        )

    def _leaving(self, pods: list[fwk.Pod]) -> list[fwk.Change]:
        return [leave(self._cluster, self._pod, pods)] if len(pods) <= _MAX_LEAVING else []

    def _prefer(self, field: str, numbers: range | list[int]) -> Iterator[fwk.Change]:
        """Required terms made preferred ones."""
        affinity = self._pod.spec.affinity
        of = affinity and (affinity.pod_affinity if field == "podAffinity" else affinity.pod_anti_affinity)
        if not of:
            return
        required: tuple[PodAffinityTerm, ...] = of.required_during_scheduling_ignored_during_execution
        chosen = [required[number] for number in numbers]
        weighted = [WeightedPodAffinityTerm(weight=_PREFERRED_WEIGHT, pod_affinity_term=term) for term in chosen]
        preferred = [*of.preferred_during_scheduling_ignored_during_execution, *weighted]
        rest = [term for number, term in enumerate(required) if number not in numbers]
        terms = self._rules.terms.required if field == "podAffinity" else self._rules.terms.required_anti
        names = _selectors_in_words([terms[number] for number in numbers])
        if len(chosen) == 1 and len(required) > 1:
            names += f" by {topology_in_words(chosen[0].topology_key)}"
        base = f"/spec/affinity/{field}"
        verb = "being near" if field == "podAffinity" else "being away from"
        yield fwk.Change(
            kind="affinity",
            on="pod",
            text=f"prefer {verb} {names} instead of requiring it",
            effort=_EFFORT * len(chosen),
            patch=(
                fwk.PatchOperation("add", f"{base}/{_REQUIRED}", codec.builtins(rest)),
                fwk.PatchOperation("add", f"{base}/{_PREFERRED}", codec.builtins(preferred)),
            ),
        )


def relations(rules: AffinityFilter, slot: int) -> fwk.Requirement:
    """The required terms, and the matching pods in the node's domains."""
    wanted, there = [], []
    near = _selectors_in_words(rules.terms.required)
    for domains in rules.affinity:
        wanted.append(f"near {near}")
        there.append(_count_there(domains, slot))
    for term, domains in zip(rules.terms.required_anti, rules.anti, strict=True):
        wanted.append(f"away from {selector_in_words(term.selector)}")
        there.append(_count_there(domains, slot))
    if any(domains.total for domains in rules.existing):
        wanted.append("no pod that keeps it away")
        there.append(f"{sum(int(domains.of(slot)) for domains in rules.existing):,} there")
    return fwk.Requirement("; ".join(wanted), "; ".join(there))


def counts_in_words(scorer: AffinityScorer, slot: int) -> str:
    """The pods that the score counts: `7 pods with app=cache in the zone`."""
    found = []
    terms = [term for _, term in (*scorer.terms.preferred, *scorer.terms.preferred_anti)]
    for (weight, domains), term in zip(scorer.own, terms, strict=True):
        count = int(domains.of(slot))
        if domains.total:
            away = ", to keep away from" if weight < 0 else ""
            found.append(f"{pods_in_words(count)} with {selector_in_words(term.selector)} {_where(domains)}{away}")
    near = sum(int(domains.of(slot)) for weight, domains in scorer.others if weight > 0)
    far = sum(int(domains.of(slot)) for weight, domains in scorer.others if weight < 0)
    if near:
        found.append(f"{pods_in_words(near)} that {'wants' if near == 1 else 'want'} to be near it")
    if far:
        found.append(f"{pods_in_words(far)} that {'wants' if far == 1 else 'want'} to be away from it")
    return ", ".join(found)


def _selectors_in_words(terms: Iterable[AffinityTerm]) -> str:
    """The pods that all terms select together."""
    words = dict.fromkeys(selector_in_words(term.selector) for term in terms if not term.selector.empty)
    return " and ".join(words) or selector_in_words(EVERYTHING)


def _count_there(domains: DomainCounts, slot: int) -> str:
    if domains.column.values[slot] == ABSENT:
        return f"no label {domains.column.key}"
    return f"{int(domains.of(slot)):,} {_where(domains)}"


def _where(domains: DomainCounts) -> str:
    word = topology_in_words(domains.column.key)
    return "on the node" if word == "node" else f"in the {word}"


def _matches(clause: Clause, of: fwk.PodTemplate) -> bool:
    return (clause.namespaces is None or of.namespace in clause.namespaces) and clause.selector.matches(of.labels)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
