"""The beginning of a sentence: what earlier rules leave the pod, and the nodes that one relation alone takes away.

`forced` says where relations to other pods send the pod ("Must go to eu-west-1a to keep zones even, and"), or which few
nodes the pod's own selectors leave ("Of the 95 nodes with pool=gpu, none fits:"). `way_around` is the second sentence:
nodes that only one relation to other pods rejects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stowplan.api.selector_words import domains_in_words, listed, topology_in_words
from stowplan.cache import ABSENT
from stowplan.framework import Mask, Refusal
from stowplan.framework.explanation import Because
from stowplan.insight.sentences.dominating import Dominating
from stowplan.insight.slices import Slices
from stowplan.insight.steps import Elimination, StepKind, count, rank_of

MAX_NAMED_DOMAINS = 3
MAX_LEFT_SHARE_FOR_IDENTITY = 0.1
"""Identity rules begin the sentence if they leave at most this share of all nodes."""


_MAX_REPRESENTATIVES = 64


class Forced(NamedTuple):
    """What earlier rules leave the pod."""

    text: str
    """The beginning of the sentence; empty if it needs none."""
    because: Because | None
    """The relation to other pods that left only these nodes."""

    def begin(self, sentence: str) -> str:
        """The whole sentence."""
        name = sentence.partition(" ")[0]
        if not self.text:
            return sentence
        # The name of a plugin keeps its capital.
        return f"{self.text} {sentence if name[1:].lower() != name[1:] else sentence[:1].lower() + sentence[1:]}"


def forced(dominating: Dominating) -> Slices[Forced]:
    """What the rules before the dominating one force; an empty text if there is nothing to say."""
    *earlier, last = dominating.eliminations
    identity = "" if last.rank.kind in (StepKind.IDENTITY, StepKind.LOCATION) else identity_nodes(dominating)
    texts: list[str] = []
    because: Because | None = None
    before = dominating.matrix.alive
    for step in earlier:
        if step.rank.kind == StepKind.RELATION or (
            step.rank.kind == StepKind.LOCATION and last.rank.kind != StepKind.LOCATION
        ):
            refusal = refusal_of(dominating, step)
            yield
            text = _BEGINNINGS[refusal.id](dominating, step, before, refusal) if refusal.id in _BEGINNINGS else ""
            if text:
                texts.append(text)
            because = Because(
                id=refusal.id, plugin=step.plugin, nodes=count(before), facts=refusal.facts, forced_by=because
            )
            yield
        before = step.left
    return _joined(identity, texts, because)


def identity_nodes(dominating: Dominating) -> str:
    """`the 95 nodes with pool=gpu` or `node n-7`, if the identity rules leave few nodes; else empty."""
    steps = [step for step in dominating.eliminations[:-1] if step.rank.kind == StepKind.IDENTITY]
    if not steps:
        return ""
    left = count(steps[-1].left)
    if left > max(1, MAX_LEFT_SHARE_FOR_IDENTITY * dominating.all_nodes):
        return ""
    selecting = [step for step in steps if step.plugin == "NodeAffinity"]
    nodes = f"{left:,} nodes"
    if left == 1:
        info = dominating.matrix.table.infos[int(np.flatnonzero(steps[-1].left)[0])]
        return "" if info is None else f"node {info.name}"
    if not selecting:
        return f"the {nodes} that it may use"
    wanted = refusal_of(dominating, selecting[0]).wanted
    return f"the {nodes} with {wanted}{' that it may use' if len(steps) > 1 else ''}"


def way_around(dominating: Dominating) -> Slices[tuple[str, ...]]:
    """At most one sentence: the nodes that one relation to other pods rejects, and no other rule, and why."""
    matrix = dominating.matrix
    last = dominating.eliminations[-1]
    masks: dict[tuple[int, str], Mask] = {}
    for plugin, status, nodes in matrix.rejected:
        rank = rank_of(matrix, plugin, status)
        if rank.kind == StepKind.RELATION and plugin != last.plugin:
            key = (rank.number, plugin)
            masks[key] = masks[key] | nodes if key in masks else nodes
    best = ""
    most = 0
    for (_, plugin), nodes in sorted(masks.items()):
        alone = nodes & matrix.alone(plugin)
        if count(alone) > most:
            refusals = []
            for slot in _representatives(dominating, plugin, alone):
                refusals.append(_first(dominating, plugin, slot))
                yield
            known = [refusal for refusal in refusals if refusal.id in _WAYS_AROUND]
            if known:
                most, best = count(alone), _WAYS_AROUND[known[0].id](dominating, alone, known)
    return (best,) if best else ()


def refusal_of(dominating: Dominating, step: Elimination) -> Refusal:
    """The refusal of a node that the step removes."""
    return _first(dominating, step.plugin, int(np.flatnonzero(step.lost)[0]))


def domains_of(dominating: Dominating, key: str, nodes: Mask) -> list[str] | None:
    """The domains of some nodes; None if a node has none."""
    column = dominating.matrix.table.label(key)
    ids = np.unique(column.array[: len(nodes)][nodes]).tolist()
    return None if ABSENT in ids else sorted(column.texts[each] for each in ids)


def whole_domains(dominating: Dominating, key: str, before: Mask, left: Mask) -> list[str] | None:
    """The domains that a rule leaves, if it leaves whole ones and few of them."""
    kept = domains_of(dominating, key, left)
    if not kept or len(kept) > MAX_NAMED_DOMAINS:
        return None
    column = dominating.matrix.table.label(key)
    lost = np.unique(column.array[: len(before)][before & ~left])
    return None if set(lost.tolist()) & {column.find(name) for name in kept} else kept


def _first(dominating: Dominating, plugin: str, slot: int) -> Refusal:
    info = dominating.matrix.table.infos[slot]
    assert info is not None
    return dominating.matrix.explain(plugin, info)[0]


def _representatives(dominating: Dominating, plugin: str, nodes: Mask) -> list[int]:
    """One node of each domain that the plugin's refusal of the first node is about; not of all if they are many."""
    slots = np.flatnonzero(nodes)
    key = _first(dominating, plugin, int(slots[0])).facts.get("topologyKey", "")
    column = dominating.matrix.table.label(key)
    found: list[int] = slots[np.unique(column.array[slots], return_index=True)[1]].tolist()
    return found[:_MAX_REPRESENTATIVES]


def _joined(identity: str, texts: list[str], because: Because | None) -> Forced:
    if identity.startswith("node "):
        return Forced(", ".join([f"May use {identity} only", *texts]) + ", and", because)
    if identity and texts:
        text = f"Of {identity}, it {texts[0]}"
        return Forced(", ".join([text, *texts[1:]]) + ", and", because)
    if identity:
        return Forced(f"Of {identity}, none fits:", because)
    if texts:
        text = ", ".join(texts)
        return Forced(f"{text[0].upper()}{text[1:]}, and", because)
    return Forced("", because)


def _to_keep_even(dominating: Dominating, step: Elimination, before: Mask, refusal: Refusal) -> str:
    key = refusal.facts["topologyKey"]
    domains = whole_domains(dominating, key, before, step.left)
    return f"must go to {listed(domains, 'or')} to keep {domains_in_words(key)} even" if domains else ""


def _to_be_near(dominating: Dominating, step: Elimination, before: Mask, refusal: Refusal) -> str:
    domains = whole_domains(dominating, refusal.facts["topologyKey"], before, step.left)
    return f"must go to {listed(domains, 'or')} to be near {refusal.facts['selector']}" if domains else ""


def _removes_most(step: Elimination, before: Mask) -> bool:
    return 2 * count(step.lost) >= count(before)


def _to_keep_away(dominating: Dominating, step: Elimination, before: Mask, refusal: Refusal) -> str:
    if not _removes_most(step, before):
        return ""
    return f"must not share a {topology_in_words(refusal.facts['topologyKey'])} with {refusal.facts['selector']}"


def _to_be_left_alone(dominating: Dominating, step: Elimination, before: Mask, refusal: Refusal) -> str:
    if not _removes_most(step, before):
        return ""
    facts, several = refusal.facts, count(step.lost) > 1
    who = f"pods such as {facts['carrier']} (their rule)" if several else f"{facts['carrier']} (its rule)"
    return f"must not share a {topology_in_words(facts['topologyKey'])} with {who}"


def _to_reach_volume(dominating: Dominating, step: Elimination, before: Mask, refusal: Refusal) -> str:
    facts = refusal.facts
    return f"must go to {facts['reachable']} to reach its volume {facts['volume']}"


_BEGINNINGS: dict[str, Callable[[Dominating, Elimination, Mask, Refusal], str]] = {
    "spread.skew": _to_keep_even,
    "pod-affinity.unmet": _to_be_near,
    "anti-affinity.own": _to_keep_away,
    "anti-affinity.others": _to_be_left_alone,
    "volume.location": _to_reach_volume,
}


def _nodes_have_room(nodes: Mask) -> str:
    return "1 node has room" if count(nodes) == 1 else f"{count(nodes):,} nodes have room"


def _around_spread(dominating: Dominating, nodes: Mask, refusals: list[Refusal]) -> str:
    facts = refusals[0].facts
    key, word = facts["topologyKey"], topology_in_words(facts["topologyKey"])
    domains = domains_of(dominating, key, nodes) or []
    who = _nodes_have_room(nodes)
    if word != "node" and len(domains) <= MAX_NAMED_DOMAINS:
        who = who.replace(" ha", f" of {listed(domains)} ha")
    those = f"that {word} holds" if len(domains) == 1 else f"those {domains_in_words(key)} hold"
    more = sorted({refusal.facts["count"] - refusal.facts["min"] for refusal in refusals})
    excess = f"{more[0]:,} to {more[-1]:,} more" if len(more) > 1 else f"{more[0]:,} more"
    if len(refusals) < len(domains):
        excess, more = "more", [facts["maxSkew"] + 1]
    pods = f"pod{'' if more == [1] else 's'} with {facts['selector']} than"
    than = f"the emptiest {word}" if len(facts["emptiest"]) > MAX_NAMED_DOMAINS else listed(facts["emptiest"])
    if "minDomains" in facts:
        than = f"the emptiest, which counts as 0 because minDomains is {facts['minDomains']}"
    allowed = f"and maxSkew allows {facts['maxSkew']}"
    if more[0] <= facts["maxSkew"]:
        allowed = f"one more would make the difference {more[0] + 1}, {allowed}"
    return f"{who}, but {those} {excess} {pods} {than}, {allowed}."


def _around_affinity(dominating: Dominating, nodes: Mask, refusals: list[Refusal]) -> str:
    facts = refusals[0].facts
    word = topology_in_words(facts["topologyKey"])
    where = "there" if word == "node" else f"in the same {word}"
    return f"{_nodes_have_room(nodes)}, but no pod with {facts['selector']} is {where}."


def _around_own(dominating: Dominating, nodes: Mask, refusals: list[Refusal]) -> str:
    facts = refusals[0].facts
    word = topology_in_words(facts["topologyKey"])
    where = "there" if word == "node" else f"in the same {word}"
    return (
        f"{_nodes_have_room(nodes)}, but pods with {facts['selector']} are {where}, "
        f"and it must not share a {word} with them."
    )


def _around_others(dominating: Dominating, nodes: Mask, refusals: list[Refusal]) -> str:
    facts = refusals[0].facts
    such = facts["carrier"] if len(refusals) == 1 else f"pods such as {facts['carrier']}"
    return (
        f"{_nodes_have_room(nodes)}, but {such} must not share a {topology_in_words(facts['topologyKey'])} "
        f"with {facts['selector']}: that is not this pod's rule."
    )


_WAYS_AROUND: dict[str, Callable[[Dominating, Mask, list[Refusal]], str]] = {
    "spread.skew": _around_spread,
    "pod-affinity.unmet": _around_affinity,
    "anti-affinity.own": _around_own,
    "anti-affinity.others": _around_others,
}
