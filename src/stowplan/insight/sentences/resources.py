"""Sentences about amounts: NodeResourcesFit."""

from __future__ import annotations

from stowplan.api import amounts
from stowplan.insight.sentences.dominating import Dominating, sentence_for


@sentence_for("resources.insufficient")
def insufficient(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    resource = facts["resource"]
    wanted, free = amounts.compared(resource, facts["wanted"], facts["free"])
    unit = "" if amounts.is_bytes(resource) else " CPU" if resource == "cpu" else f" {resource}"
    best = "the only node" if dominating.nodes == 1 else f"the best of {dominating.nodes:,} nodes"
    return f"Needs {wanted}{unit} on one node; {best} has {free} free."


@sentence_for("resources.too-small")
def too_small(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    resource = facts["resource"]
    wanted, there = amounts.compared(resource, facts["wanted"], facts["allocatable"])
    unit = "" if amounts.is_bytes(resource) else " CPU" if resource == "cpu" else f" {resource}"
    largest = "the only node" if dominating.nodes == 1 else f"the largest of {dominating.nodes:,} nodes"
    return f"Asks for {wanted}{unit}; {largest} has {there}."


@sentence_for("pods.too-many")
def too_many_pods(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    where = "The only node" if dominating.nodes == 1 else f"All {dominating.nodes:,} nodes that are left"
    return f"{where} {'holds' if dominating.nodes == 1 else 'hold'} as many pods as allowed ({facts['allocatable']:,})."
