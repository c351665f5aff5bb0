"""Sentences about the nodes that a pod asks for: NodeAffinity, NodeName and NodeDeclaredFeatures."""

from __future__ import annotations

from stowplan.api.selector_words import listed
from stowplan.insight.sentences.dominating import Dominating, left_in_words, sentence_for
from stowplan.insight.sentences.structural import conflict, meeting
from stowplan.insight.steps import count
from stowplan.plugins.node_affinity import demands_of


@sentence_for("affinity.node")
def selector(dominating: Dominating) -> str:
    others = dominating.matrix.alive & ~dominating.matrix.by_plugin()[dominating.refusal.plugin]
    if others.any():  # An earlier rule, such as spec.nodeName, does not leave the nodes that match.
        only = f"May use {dominating.best.name} only" if dominating.nodes == 1 else "May not use the nodes that match"
        return f"{only}, and {dominating.refusal.text}."
    demands = demands_of(dominating.pod.spec)
    closest = demands.closest(dominating.best)
    if demands.alternatives is not None and closest is None:
        return f"{dominating.refusal.text[:1].upper()}{dominating.refusal.text[1:]}."
    found = conflict(dominating.matrix, (*demands.selector, *(() if closest is None else closest.demands)))
    if demands.alternatives is None or len(demands.alternatives) == 1:
        return found
    text = f"{found[:1].lower()}{found[1:]}"
    return f"No node meets one of its {len(demands.alternatives)} alternatives; the closest: {text}"


def requirement_counts(dominating: Dominating) -> dict[str, dict[str, int]]:
    """Further facts about the selector: the nodes that meet each requirement alone."""
    if dominating.refusal.id != "affinity.node":
        return {}
    demands = demands_of(dominating.pod.spec).all
    return {"counts": {demand.words: count(meeting(dominating.matrix, demand)) for demand in demands}}


@sentence_for("affinity.enforced")
def added(dominating: Dominating) -> str:
    wanted = dominating.refusal.wanted.removesuffix(" (addedAffinity)")
    return f"The configuration's addedAffinity wants {wanted}, which {_no_node(dominating)} has; not the pod's rule."


@sentence_for("node.name")
def node_name(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    names = f"Names node {facts['name']} (spec.nodeName)"
    if facts["exists"]:
        return f"{names}, and {_no_node(dominating)} is that node."
    near = f"; near names: {listed(facts['near'])}" if "near" in facts else ""
    return f"{names}, and there is no such node{near}."


@sentence_for("features.missing")
def features(dominating: Dominating) -> str:
    missing = listed(dominating.refusal.facts["missing"])
    return f"Needs a kubelet that declares {missing}, and {_no_node(dominating)} does."


def _no_node(dominating: Dominating) -> str:
    return "no node" if dominating.nodes == dominating.all_nodes else f"none of {left_in_words(dominating)}"
