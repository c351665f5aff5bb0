"""Sentences about even spreading: PodTopologySpread."""

from __future__ import annotations

from stowplan.api.selector_words import domains_in_words
from stowplan.cache import ABSENT
from stowplan.insight.sentences.dominating import Dominating, sentence_for


@sentence_for("spread.skew")
def skew(dominating: Dominating) -> str:
    even = f"Must keep {domains_in_words(dominating.refusal.facts['topologyKey'])} even, and"
    if dominating.nodes == 1:
        return f"{even} the only node that is left may not take it: {dominating.refusal.text}."
    return f"{even} none of the {dominating.nodes:,} nodes that are left may take it: {dominating.refusal.text}."


@sentence_for("spread.no-label")
def no_label(dominating: Dominating) -> str:
    key = dominating.refusal.facts["topologyKey"]
    if dominating.nodes == 1:
        return f"Spreads over {key}, a label that the only node that is left does not have."
    column = dominating.matrix.table.label(key).array[: len(dominating.left)]
    if (column[dominating.left] == ABSENT).all():
        return f"Spreads over {key}, a label that none of the {dominating.nodes:,} nodes that are left has."
    nodes = f"none of the {dominating.nodes:,} nodes that are left may take it"
    return f"Must keep {domains_in_words(key)} even, and {nodes}: {dominating.best.name} {dominating.refusal.text}."
