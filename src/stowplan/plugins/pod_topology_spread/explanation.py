"""Rejections by topology spread constraints in words: the counts of the domains, pitfalls, and the
smallest changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.selector_words import domains_in_words, listed, pods_in_words, selector_in_words, topology_in_words
from stowplan.api.tolerations import find_untolerated, tolerated
from stowplan.cache import ABSENT, Cluster
from stowplan.cache.node_matching import required_nodes
from stowplan.plugins.base import MAX_EXAMINED_PODS, leave, matching_labels, pods_in_domain
from stowplan.plugins.pod_topology_spread.constraints import HARD, HOSTNAME, SOFT
from stowplan.plugins.pod_topology_spread.filtering import SKEWED, UNLABELED, HardConstraint, SpreadFilter
from stowplan.plugins.pod_topology_spread.scoring import SpreadScorer

TEMPLATE_HASH = "pod-template-hash"
_UNSCHEDULABLE = api.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

_EFFORT = 4.0
_EFFORT_START = 6.0
_EFFORT_LABEL = 3.0
_MAX_NAMED = 3
_MAX_DOMAINS_IN_FACTS = 20
_MAX_LEAVING = 20


class SpreadExplanation:
    """The refusals of one pod, made once for each domain."""

    def __init__(self, cluster: Cluster, rules: SpreadFilter, pod: fwk.Pod) -> None:
        self._cluster = cluster
        self._pod = pod
        own = [
            number
            for number, each in enumerate(pod.spec.topology_spread_constraints)
            if each.when_unsatisfiable == HARD
        ]
        self._parts = rules.parts
        self._positions: list[int | None] = [*own] if own else [None] * len(rules.parts)
        self._words: dict[int, _ConstraintWords] = {}
        self._known: dict[tuple[int, int], fwk.Refusal] = {}

    def refusals(self, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        """A refusal for each constraint that rejects the node, in the order of the constraints."""
        for number, part in enumerate(self._parts):
            domain = part.domains.column.values[node.slot]
            if domain == ABSENT:
                yield self._words_of(number).unlabelled(node)
            elif part.domains.values[domain] > part.bound:
                known = self._known.get((number, domain))
                if known is None:
                    known = self._known[number, domain] = self._words_of(number).skewed(domain)
                yield known

    def _words_of(self, number: int) -> _ConstraintWords:
        """Of the constraint at that position, made when it first rejects a node."""
        found = self._words.get(number)
        if found is None:
            found = _ConstraintWords(self._cluster, self._pod, self._parts[number], self._positions[number])
            self._words[number] = found
        return found


class _ConstraintWords:
    """One constraint in words."""

    def __init__(self, cluster: Cluster, pod: fwk.Pod, part: HardConstraint, position: int | None) -> None:
        self._cluster = cluster
        self._pod = pod
        self.part = part
        self._position = position
        self._constraint = part.constraint
        self._key = part.constraint.topology_key
        self._word = topology_in_words(self._key)
        self._selector = selector_in_words(part.constraint.selector)
        self._itself = int(part.counts_itself)
        self._enough = part.domains.counted >= part.constraint.min_domains
        self._least = part.domains.least if self._enough else 0
        self._by_name = part.domains.lowest(_MAX_DOMAINS_IN_FACTS)
        """The sums of the emptiest domains, by label value."""
        emptiest = [name for name, count in self._by_name.items() if self._enough and count == self._least]
        self._emptiest = emptiest[: _MAX_NAMED + 1]
        """The first of them; more than can be named stand for many."""
        self._pods: dict[int, list[fwk.Pod]] = {}
        self._ghosts = self._find_ghosts()

    def unlabelled(self, node: fwk.NodeInfo) -> fwk.Refusal:
        changes = self._soften()
        domains = self.part.domains
        room = [each for each in np.flatnonzero(self.part.acceptable()).tolist() if domains.column.sizes[each]]
        best = min(room, key=lambda each: (domains.values[each], domains.column.texts[each]), default=None)
        value = node.name if self._key == HOSTNAME else None if best is None else domains.column.texts[best]
        if value is not None:
            path = f"/metadata/labels/{self._key.replace('~', '~0').replace('/', '~1')}"
            patch = (fwk.PatchOperation("add", path, value),)
            text = f"label the node {self._key}={value}"
            changes = [_change("label", text, _EFFORT_LABEL, patch, node.name), *changes]
        return fwk.Refusal(
            id="spread.no-label",
            reasons=UNLABELED.reasons,
            text=f"has no label {self._key}, which the constraint spreads over",
            wanted=f"label {self._key}",
            there="no such label",
            lasting=True,
            facts={"topologyKey": self._key, "selector": self._selector},
            changes=tuple(changes),
        )

    def skewed(self, domain: int) -> fwk.Refusal:
        count = int(self.part.domains.values[domain])
        skew = count + self._itself - self._least
        name = self.part.domains.column.texts[domain]
        allowed = self._constraint.max_skew
        return fwk.Refusal(
            id="spread.skew",
            reasons=SKEWED.reasons,
            text=self._text(name, count, skew),
            wanted=f"difference at most {allowed}",
            there=_skew_in_figures(count, self._itself, self._least),
            rule=f"{self._word} may take one more {self._selector}",
            facts=self._facts(name, count, domain),
            changes=self._changes(domain, count, skew),
            notes=tuple(self._notes(domain, name, count)),
        )

    def _text(self, name: str, count: int, skew: int) -> str:
        has = f"{name} has {pods_in_words(count)} with {self._selector}"
        if not self._enough:
            known = f"{self.part.domains.counted:,} {domains_in_words(self._key)}"
            least = f"; there are {known} and minDomains is {self._constraint.min_domains}, so the emptiest counts as 0"
        elif len(self._emptiest) > _MAX_NAMED:
            least = f", the emptiest {self._word} {self._least:,}"
        else:
            least = f", {listed(self._emptiest)} {self._least:,}"
        would = f"one more would make the difference {skew:,}" if self._itself else f"the difference is {skew:,}"
        return f"{has}{least}; {would}, and maxSkew allows {self._constraint.max_skew:,}"

    def _facts(self, name: str, count: int, domain: int) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "topologyKey": self._key,
            "selector": self._selector,
            "domain": name,
            "count": count,
            "self": self._itself,
            "min": self._least,
            "maxSkew": self._constraint.max_skew,
            "domains": dict(sorted({**self._by_name, name: count}.items())),
            "emptiest": self._emptiest,
        }
        if not self._enough:
            facts["minDomains"] = self._constraint.min_domains
        if self._ghosts:
            facts["unusable"] = sorted(self._ghosts)
        if count <= MAX_EXAMINED_PODS and (others := self._of_other_replica_sets(domain)):
            facts["otherReplicaSets"] = len(others)
        if self._position is None:
            facts["default"] = True
        return facts

    def _notes(self, domain: int, name: str, count: int) -> Iterator[str]:
        if self._position is None:
            yield f"The constraint over {domains_in_words(self._key)} is a default of the configuration, not the pod's."
        if not self._itself:
            yield f"The pod itself does not match {self._selector}: it is not among the pods that it spreads."
        yield from self._ghosts.values()
        if others := self._of_other_replica_sets(domain):
            number = f"At least {len(others):,}" if count > MAX_EXAMINED_PODS else f"{len(others):,}"
            yield (
                f"{number} of the {count:,} in {name} {'is' if len(others) == 1 else 'are'} of another "
                f"ReplicaSet; with matchLabelKeys: [{TEMPLATE_HASH}] {'it' if len(others) == 1 else 'they'} "
                "would not count."
            )
        inside = self.part.domains.column.array == domain
        present = int(self.part.domains.counts.array[inside].sum())
        if present > count:
            yield (
                f"{count:,} of the {present:,} pods with {self._selector} in {name} count: "
                "the others are on nodes that it may not use."
            )

    def _changes(self, domain: int, count: int, skew: int) -> tuple[fwk.Change, ...]:
        changes = [*self._on_pod(skew), *self._soften()]
        if self._position is not None and self._of_other_replica_sets(domain):
            keys = [*self._own().match_label_keys, TEMPLATE_HASH]
            changes.append(self._set("matchLabelKeys", keys, f"matchLabelKeys: [{', '.join(keys)}]"))
        changes += self._start(count)
        leaving = self._leaving(domain, skew - self._constraint.max_skew)
        changes += [leave(self._cluster, self._pod, leaving)] if leaving else []
        return tuple(sorted(changes, key=lambda change: (change.effort, change.text)))

    def _on_pod(self, skew: int) -> Iterator[fwk.Change]:
        if self._position is None:
            return
        # A smaller difference is nearer.
        more = min((skew - self._constraint.max_skew) / 1000, 0.5)
        yield self._set("maxSkew", skew, f"maxSkew: {skew}", _EFFORT + more)
        counted = self.part.domains.counted
        if not self._enough and counted and skew - self.part.domains.least <= self._constraint.max_skew:
            yield self._set("minDomains", counted, f"minDomains: {counted}")
        cures = [self._cures(name) for name in self._ghosts]
        if cures and cures[0] and all(each == cures[0] for each in cures):
            yield self._set(cures[0][0], "Honor", f"{cures[0][0]}: Honor")

    def _soften(self) -> list[fwk.Change]:
        if self._position is None:
            return []
        return [self._set("whenUnsatisfiable", SOFT, f"whenUnsatisfiable: {SOFT}", _EFFORT + 0.6)]

    def _start(self, count: int) -> list[fwk.Change]:
        """Pods in the emptiest domains, until the difference is allowed."""
        wanted = count + self._itself - self._constraint.max_skew
        short = {name: wanted - present for name, present in self._by_name.items() if present < wanted}
        if not self._enough or self._ghosts.keys() & short.keys() or not 0 < len(short) <= _MAX_NAMED:
            return []
        labels = matching_labels(self._constraint.selector)
        parts = [f"{number:,} in {name}" for name, number in sorted(short.items())]
        number = sum(short.values())
        text = f"{number:,} more {'pod' if number == 1 else 'pods'} with {self._selector}"
        where = f" in {next(iter(short))}" if len(short) == 1 else f": {listed(parts)}"
        return [
            fwk.Change(
                kind="start",
                on="cluster",
                text=text + where,
                effort=_EFFORT_START + number,
                starts=tuple(
                    fwk.StartingPods(
                        number=each,
                        namespace=self._pod.namespace,
                        labels=labels,
                        topology_key=self._key,
                        domain=name,
                        node=self._nodes_of(name)[0].name,
                    )
                    for name, each in sorted(short.items())
                ),
            )
        ]

    def _leaving(self, domain: int, number: int) -> list[fwk.Pod]:
        """So many of the domain's pods, those of lower priority first."""
        if number > _MAX_LEAVING:
            return []
        pods = sorted(self._counted(domain), key=lambda pod: (pod.priority, pod.key))
        return pods[:number]

    def _counted(self, domain: int) -> list[fwk.Pod]:
        """The pods that count in a domain."""
        known = self._pods.get(domain)
        if known is None:
            selector, namespace = self._constraint.selector, self._pod.namespace
            found = pods_in_domain(
                self._cluster,
                self.part.domains,
                domain,
                lambda template: template.namespace == namespace and selector.matches(template.labels),
                self.part.eligible(),
            )
            known = self._pods[domain] = [pod for pod in found if not pod.terminating]
        return known

    def _of_other_replica_sets(self, domain: int) -> list[fwk.Pod]:
        own = self._pod.labels.get(TEMPLATE_HASH)
        if own is None or (self._position is not None and TEMPLATE_HASH in self._own().match_label_keys):
            return []
        return [pod for pod in self._counted(domain) if pod.labels.get(TEMPLATE_HASH) not in (None, own)]

    def _find_ghosts(self) -> dict[str, str]:
        """A note for each of the emptiest domains, if the pod can use no node of any of them."""
        if len(self._emptiest) > _MAX_NAMED:
            return {}
        notes = {}
        for name in self._emptiest:
            closed = self._closed_nodes(name)
            if closed is None:
                return {}
            number = len(self._nodes_of(name))
            cures = self._cures(name)
            counts = f"{name} counts as a {self._word} with {pods_in_words(self._least)}"
            nodes = f"its only node {closed[0]}" if number == 1 else f"its {number:,} nodes {closed[1]}"
            with_ = f"; with {listed(f'{policy}: Honor' for policy in cures)} it would not count" if cures else ""
            notes[name] = f"{counts}, although {nodes}{with_}."
        return notes

    def _closed_nodes(self, name: str) -> tuple[str, str] | None:
        """Why the pod cannot use any node of a domain (singular, plural); None if it can use one."""
        common: frozenset[str] | None = None
        for info in self._nodes_of(name):
            causes = self._causes(info)
            if not causes:
                return None
            common = causes if common is None else common & causes
        if common is None:
            return None
        for cause, words in (
            ("cordoned", ("is cordoned", "are cordoned")),
            ("tainted", ("has a taint that it does not tolerate", "have taints that it does not tolerate")),
            ("elsewhere", ("does not match its node affinity", "do not match its node affinity")),
        ):
            if cause in common:
                return words
        return "is closed to it", "are closed to it"

    def _causes(self, info: fwk.NodeInfo) -> frozenset[str]:
        spec = self._pod.spec
        required = required_nodes(self._pod.template)
        causes = {
            "cordoned": info.unschedulable and not tolerated(_UNSCHEDULABLE, spec.tolerations),
            "tainted": find_untolerated(info.taints, spec.tolerations) is not None,
            "elsewhere": required is not None and not required.matches(info),
        }
        return frozenset(cause for cause, applies in causes.items() if applies)

    def _cures(self, name: str) -> list[str]:
        """The policies with which the domain would not count."""
        if self._position is None:
            return []
        causes = [self._causes(info) for info in self._nodes_of(name)]
        cures = []
        if not self._constraint.honors_affinity and all("elsewhere" in each for each in causes):
            cures.append("nodeAffinityPolicy")
        if not cures and not self._constraint.honors_taints and all("tainted" in each for each in causes):
            cures.append("nodeTaintsPolicy")
        return cures

    def _nodes_of(self, name: str) -> list[fwk.NodeInfo]:
        column, eligible = self.part.domains.column, self.part.eligible()
        mask = column.array == column.find(name)
        if eligible is not None:
            mask = mask & eligible
        infos = self._cluster.nodes.infos
        return [info for slot in np.flatnonzero(mask).tolist() if (info := infos[slot]) is not None]

    def _own(self) -> api.TopologySpreadConstraint:
        assert self._position is not None
        return self._pod.spec.topology_spread_constraints[self._position]

    def _set(self, field: str, value: object, text: str, effort: float = _EFFORT) -> fwk.Change:
        """Another value of a field of the pod's constraint."""
        several = len(self._pod.spec.topology_spread_constraints) > 1
        path = f"/spec/topologySpreadConstraints/{self._position}/{field}"
        of = f" for {domains_in_words(self._key)}" if several else ""
        return _change("spread", text + of, effort, (fwk.PatchOperation("add", path, value),))


def skews(rules: SpreadFilter, slot: int) -> fwk.Requirement:
    """The allowed differences, and the node's."""
    wanted, there = [], []
    for part in rules.parts:
        domains = part.domains
        of = "" if len(rules.parts) == 1 else f"{domains_in_words(part.constraint.topology_key)}: "
        wanted.append(f"{of}difference at most {part.constraint.max_skew:,}")
        if domains.column.values[slot] == ABSENT:
            there.append(f"no label {part.constraint.topology_key}")
            continue
        least = domains.least if domains.counted >= part.constraint.min_domains else 0
        there.append(of + _skew_in_figures(int(domains.of(slot)), int(part.counts_itself), least))
    return fwk.Requirement("; ".join(wanted), "; ".join(there))


def counts_in_words(scorer: SpreadScorer, slot: int) -> str:
    """The pods that the score counts: `12 pods in the zone, 2 on the node`."""
    found = []
    for part, constraint in zip(scorer.parts, scorer.constraints, strict=True):
        key = constraint.topology_key
        if part.column.values[slot] == ABSENT:
            found.append(f"no label {key}")
            continue
        matching = part.counts.values[slot] if part.domains is None else part.domains.of(slot)
        where = "on the node" if key == HOSTNAME else f"in the {topology_in_words(key)}"
        found.append(f"{pods_in_words(int(matching))} {where}")
    return ", ".join(found)


def _skew_in_figures(count: int, itself: int, least: int) -> str:
    return f"{count:,}{' + 1' if itself else ''} - {least:,} = {count + itself - least:,}"


def _change(
    kind: fwk.ChangeKind, text: str, effort: float, patch: tuple[fwk.PatchOperation, ...], node: str = ""
) -> fwk.Change:
    return fwk.Change(kind=kind, on="node" if node else "pod", text=text, effort=effort, patch=patch, node=node)
