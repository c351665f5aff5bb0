"""Sentences about taints and the state of nodes: TaintToleration and NodeUnschedulable."""

from __future__ import annotations

from collections import Counter

import numpy as np

from stowplan.api.selector_words import listed
from stowplan.framework import Refusal
from stowplan.insight.lasting import TAINTS
from stowplan.insight.sentences.dominating import Dominating, left_in_words, sentence_for

_MAX_NAMED = 3


@sentence_for("taint.untolerated")
def untolerated(dominating: Dominating) -> str:
    counts = _taints(dominating)
    near = dominating.refusal.facts.get("near", "")
    differs = f": {near}" if near else ""
    if dominating.nodes == 1:
        taints = listed(counts)
        them = "the taint" if len(counts) == 1 else "the taints"
        nodes = left_in_words(dominating)
        return f"{nodes[:1].upper()}{nodes[1:]} has {them} {taints}, which it does not tolerate{differs}."
    nodes = left_in_words(dominating).removeprefix("the ")
    nodes = f"Both {nodes.removeprefix('2 ')}" if dominating.nodes == 2 else f"All {nodes}"
    common = [taint for taint, nodes_with in counts.items() if nodes_with == dominating.nodes]
    if common:
        return f"{nodes} have the taint {common[0]}, which it does not tolerate{differs}."
    named = [f"{taint} ({nodes_with:,})" for taint, nodes_with in counts.most_common(_MAX_NAMED)]
    more = [f"{len(counts) - _MAX_NAMED:,} more"] if len(counts) > _MAX_NAMED else []
    return f"{nodes} have taints that it does not tolerate: {listed([*named, *more])}."


@sentence_for("node.cordoned")
def cordoned(dominating: Dominating) -> str:
    count = dominating.nodes
    if _states(dominating) - {"is cordoned"}:
        return lifecycle(dominating)
    if count == 1:
        return f"The only node that would do, {dominating.best.name}, is cordoned."
    return f"The {count:,} nodes that would do are cordoned."


@sentence_for("taint.lifecycle")
def lifecycle(dominating: Dominating) -> str:
    count = dominating.nodes
    if count == 1:
        return f"The only node that would do, {dominating.best.name}, {dominating.refusal.text}."
    named = [f"{name} {refusal.text}" for name, refusal in _examples(dominating)]
    more = [f"{count - len(named):,} more"] if count > len(named) else []
    return f"None of the {count:,} nodes that would do is usable now: {listed([*named, *more])}."


def _taints(dominating: Dominating) -> Counter[str]:
    """Untolerated taints, with the number of nodes that have each."""
    table, found = dominating.matrix.table, Counter[str]()
    sets, firsts, sizes = np.unique(
        table.taint_set[: len(dominating.left)][dominating.left], return_index=True, return_counts=True
    )
    slots = np.flatnonzero(dominating.left)
    for _, first, size in zip(sets.tolist(), firsts.tolist(), sizes.tolist(), strict=True):
        info = table.infos[int(slots[first])]
        for refusal in dominating.matrix.explain(TAINTS, info) if info is not None else ():
            if refusal.there:
                found[refusal.there] += size
    return found


def _examples(dominating: Dominating) -> list[tuple[str, Refusal]]:
    """The first nodes, each with its refusal."""
    infos = [dominating.matrix.table.infos[slot] for slot in np.flatnonzero(dominating.left)[:_MAX_NAMED].tolist()]
    plugin = dominating.refusal.plugin
    return [(info.name, dominating.matrix.explain(plugin, info)[0]) for info in infos if info is not None]


def _states(dominating: Dominating) -> set[str]:
    return {refusal.text for _, refusal in _examples(dominating)}
