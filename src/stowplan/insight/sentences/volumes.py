"""Sentences about volumes: VolumeBinding, VolumeZone and NodeVolumeLimits."""

from __future__ import annotations

import numpy as np

from stowplan.api import amounts
from stowplan.api.selector_words import listed, node_selector_in_words, selector_in_words
from stowplan.cache.node_matching import required_nodes
from stowplan.framework import Mask, Refusal
from stowplan.insight.sentences.dominating import Dominating, sentence_for
from stowplan.insight.sentences.forced import identity_nodes

_LOCATION_PLUGINS = ("VolumeBinding", "VolumeZone")
_MAX_EXAMINED_NODES = 256
"""With more nodes than this, sentences speak of the best node alone."""


@sentence_for("volume.location")
def location(dominating: Dominating) -> str:
    refusals = _locations(dominating)
    everywhere = set.intersection(*(set(claims) for claims in refusals))
    if not everywhere:
        places = {claim: refusal.facts["reachable"] for claims in refusals for claim, refusal in claims.items()}
        named = [f"{claim} ({reachable})" for claim, reachable in sorted(places.items())]
        return f"Claims {listed(named)} can be reached from {_no_node(dominating)} together."
    facts = refusals[0][min(everywhere)].facts
    only = f"Its volume {facts['volume']} (claim {facts['claim']}) can be reached from {facts['reachable']} only"
    if asked := _asks_for_others(dominating):
        return f"{only}, and it asks for {asked}."
    if dominating.nodes == 1:
        return f"{only}, and the only node{'' if dominating.all_nodes == 1 else ' that is left'} is not there."
    if dominating.nodes == dominating.all_nodes:
        return f"{only}, and no node is there."
    return f"{only}, and none of {identity_nodes(dominating) or _left(dominating)} is there."


@sentence_for("volume.none")
def none(dominating: Dominating) -> str:
    facts, refusals = dominating.refusal.facts, _of_all(dominating, "claim")
    if not refusals:
        return _such_as(dominating)
    largest = max(refusal.facts["largest"] for refusal in refusals)
    wanted, there = amounts.compared("storage", facts["wanted"], largest)
    needs = f"Claim {facts['claim']} needs a free volume of class {facts['class']} with {wanted}"
    best = f"; the largest there is {there}" if 0 < largest < facts["wanted"] else ""
    return f"{needs}, and {_no_node(dominating)} has one{best}."


@sentence_for("volume.no-capacity")
def no_capacity(dominating: Dominating) -> str:
    facts, refusals = dominating.refusal.facts, _of_all(dominating, "claim")
    if not refusals:
        return _such_as(dominating)
    left = max(refusal.facts["left"] for refusal in refusals)
    wanted, there = amounts.compared("storage", facts["wanted"], left)
    needs = f"Claim {facts['claim']} asks for {wanted} of class {facts['class']}"
    most = f"; the most there is {there}" if left else ""
    return f"{needs}, and {_no_node(dominating)} has that much left{most}."


@sentence_for("volume.topology")
def topology(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    if not _of_all(dominating, "claim"):
        return _such_as(dominating)
    makes = f"Class {facts['class']} of claim {facts['claim']} makes volumes for {facts['allowed']} only"
    return f"{makes}, and {_no_node(dominating)} is there."


@sentence_for("volume.selected-node")
def selected_node(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    made = f"A volume for claim {facts['claim']} is being made for {facts['node']}"
    info = dominating.matrix.table.get(facts["node"])
    if info is None:
        return f"{made}, and there is no such node."
    refusals = dominating.matrix.refusals_of(info)
    return f"{made}; of that node: {refusals[0].text}." if refusals else f"{made}."


@sentence_for("claim.lost")
def lost(dominating: Dominating) -> str:
    return f"{dominating.refusal.text[:1].upper()}{dominating.refusal.text[1:]}."


@sentence_for("volume.limit")
def limit(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    if not _of_all(dominating, "driver"):
        return _such_as(dominating)
    volumes = "1 volume" if facts["wanted"] == 1 else f"{facts['wanted']:,} volumes"
    attached = f"{dominating.best.name} has {facts['attached']:,} of {facts['limit']:,} attached"
    needs = f"Needs {volumes} of {facts['driver']} on one node"
    return f"{needs}, and {_no_node(dominating)} may attach so many: {attached}."


def _such_as(dominating: Dominating) -> str:
    nodes = "None of the nodes that are left" if dominating.nodes == 1 else f"None of {_left(dominating)}"
    return f"{nodes} can have its volumes; of {dominating.best.name}: {dominating.refusal.text}."


def _no_node(dominating: Dominating) -> str:
    return "no node" if dominating.nodes == dominating.all_nodes else f"none of {_left(dominating)}"


def _left(dominating: Dominating) -> str:
    return "the nodes that are left" if dominating.nodes == 1 else f"the {dominating.nodes:,} nodes that are left"


def _locations(dominating: Dominating) -> list[dict[str, Refusal]]:
    """For one node of each kind: the claims whose volumes it does not reach."""
    found = []
    for slot in _representatives(dominating):
        info = dominating.matrix.table.infos[slot]
        assert info is not None
        claims: dict[str, Refusal] = {}
        for plugin in _LOCATION_PLUGINS:
            if dominating.matrix.by_plugin().get(plugin, np.zeros(slot + 1))[slot]:
                for refusal in dominating.matrix.explain(plugin, info):
                    if refusal.id == "volume.location":
                        claims.setdefault(refusal.facts["claim"], refusal)
        found.append(claims)
    return found


def _representatives(dominating: Dominating) -> list[int]:
    """One node for each combination of the labels that decide about the location."""
    slots = np.flatnonzero(dominating.left)
    keys = dict.fromkeys(dominating.refusal.facts["keys"])
    for slot in slots[:_MAX_EXAMINED_NODES].tolist():
        info = dominating.matrix.table.infos[slot]
        for refusal in dominating.matrix.refusals_of(info) if info is not None else ():
            keys |= dict.fromkeys(refusal.facts.get("keys", ()))
    columns = np.stack([dominating.matrix.table.label(key).array[slots] for key in keys])
    found: list[int] = slots[np.unique(columns, axis=1, return_index=True)[1]].tolist()
    return found


def _asks_for_others(dominating: Dominating) -> str:
    """The pod's node affinity, if it alone leaves out the nodes that reach the volumes."""
    masks = dominating.matrix.by_plugin()
    reaching: Mask = dominating.matrix.alive.copy()
    for plugin in _LOCATION_PLUGINS:
        if plugin in masks:
            reaching &= ~masks[plugin]
    if "NodeAffinity" not in masks or not reaching.any() or (reaching & ~masks["NodeAffinity"]).any():
        return ""
    required = required_nodes(dominating.pod.template)
    if required is None:
        return ""
    words = [] if required.labels is None else [selector_in_words(required.labels)]
    return " and ".join([*words, *([] if required.affinity is None else [node_selector_in_words(required.affinity)])])


def _of_all(dominating: Dominating, fact: str) -> list[Refusal]:
    """The refusals of all nodes that are left, if each has one about the same claim or driver; else none."""
    slots = np.flatnonzero(dominating.left).tolist()
    found: list[Refusal] = []
    for slot in slots if len(slots) <= _MAX_EXAMINED_NODES else ():
        info = dominating.matrix.table.infos[slot]
        for refusal in dominating.matrix.explain(dominating.refusal.plugin, info) if info is not None else ():
            if refusal.id == dominating.refusal.id and refusal.facts[fact] == dominating.refusal.facts[fact]:
                found.append(refusal)
                break
    return found if len(found) == len(slots) else []
