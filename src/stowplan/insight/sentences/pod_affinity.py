"""Sentences about being near and away from other pods: InterPodAffinity."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stowplan.api.selector_words import listed, topology_in_words
from stowplan.cache import ABSENT
from stowplan.cache.selection import pod_terms
from stowplan.framework import Pod
from stowplan.insight.sentences.dominating import Dominating, sentence_for

_MAX_NAMED = 3


@sentence_for("pod-affinity.unmet")
def unmet(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    key, near = facts["topologyKey"], f"Wants to be near {facts['selector']}"
    column = dominating.matrix.table.label(key).array[: len(dominating.left)]
    if (column[dominating.left] == ABSENT).all():
        return f"{near} by {key}, a label that {_nodes(dominating, 'does not have', 'has')}."
    if not facts["matching"]:
        return f"{near}; no pod matches{_in_namespaces(facts.get('namespaces', []))}."
    word = topology_in_words(key)
    places: dict[str, int] = facts.get("domains", {})
    where = f": that is {listed(sorted(places), 'or')}" if 0 < len(places) <= _MAX_NAMED else ""
    place = "on a node" if word == "node" else f"in a {word}"
    return f"{near}, and {_nodes(dominating, 'is not', 'is')} {place} with such a pod{where}."


@sentence_for("anti-affinity.own")
def own(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    word = topology_in_words(facts["topologyKey"])
    share = f"Must not share a {word} with {facts['selector']}, and"
    if dominating.nodes == 1:
        return f"{share} {facts['pods'][0]} is {_on(word, 1)} the only node that is left."
    several = len(pod_terms(dominating.pod.template).required_anti) > 1
    if several or not _all_for_this_reason(dominating):
        return _such_as(dominating)
    return f"{share} such pods are {_on(word, dominating.nodes)} all {dominating.nodes:,} nodes that are left."


@sentence_for("anti-affinity.others")
def others(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    word = topology_in_words(facts["topologyKey"])
    who = f"{facts['carrier']} ({facts['workload']})" if facts["workload"] else facts["carrier"]
    rule = f"must not share a {word} with {facts['selector']}: not this pod's rule"
    if dominating.nodes == 1:
        return f"{who}, {_on(word, 1)} the only node that is left, {rule}."
    if not _all_for_this_reason(dominating):
        return _such_as(dominating)
    return (
        f"All {dominating.nodes:,} nodes that are left have pods {_near(word)} that keep this pod away by their rule, "
        f"not this pod's: {who} {rule.partition(':')[0]}."
    )


def _all_for_this_reason(dominating: Dominating) -> bool:
    """Whether the dominating plugin rejects all nodes that are left with the reason of the best node."""
    rejected = np.zeros(len(dominating.left), dtype=np.bool_)
    for plugin, status, nodes in dominating.matrix.rejected:
        if plugin == dominating.refusal.plugin and set(status.reasons) & set(dominating.refusal.reasons):
            rejected |= nodes
    return not (dominating.left & ~rejected).any()


def _such_as(dominating: Dominating) -> str:
    nodes = f"None of the {dominating.nodes:,} nodes that are left may take it because of other pods"
    return f"{nodes}; of {dominating.best.name}: {dominating.refusal.text}."


def _nodes(dominating: Dominating, one: str, none: str) -> str:
    if dominating.nodes == 1:
        return f"the only node that is left {one}"
    return f"none of the {dominating.nodes:,} nodes that are left {none}"


def _in_namespaces(names: list[str]) -> str:
    if names == ["*"]:
        return " in any namespace"
    return f" in namespace{'s' if len(names) > 1 else ''} {listed(names)}" if names else ""


def _on(word: str, nodes: int) -> str:
    return "on" if word == "node" else f"in the {word}{'' if nodes == 1 else 's'} of"


def _near(word: str) -> str:
    return "on them" if word == "node" else f"in their {word}"


def pending_matches(pod: Pod, pending: Iterable[Pod]) -> tuple[str, ...]:
    """At most one sentence: pods that would satisfy the required pod affinity, and have no node themselves."""
    terms = pod_terms(pod.template).required
    names = sorted(
        other.key
        for other in pending
        if other.uid != pod.uid and all(term.matches(other.namespace, {}, other.labels) for term in terms)
    )
    if not names or not terms:
        return ()
    if len(names) == 1:
        return (f"{names[0]} matches, and has no node itself.",)
    return (f"{len(names):,} pods match and have no node themselves, such as {names[0]}.",)
