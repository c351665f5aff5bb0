"""The table of sentences, and the facts that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stowplan.framework import Mask, NodeInfo, Pod, Refusal
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.steps import Elimination


class Dominating(NamedTuple):
    """The rule at which no node is left."""

    matrix: FilterMatrix
    eliminations: list[Elimination]
    left: Mask
    """The nodes left before it."""
    best: NodeInfo
    """Of those, the node that needs the smallest change."""
    refusal: Refusal
    """Its refusal by the dominating plugin."""

    @property
    def pod(self) -> Pod:
        return self.matrix.pod

    @property
    def nodes(self) -> int:
        return int(np.count_nonzero(self.left))

    @property
    def all_nodes(self) -> int:
        return int(np.count_nonzero(self.matrix.alive))


Sentence = Callable[[Dominating], str]
_SENTENCES: dict[str, Sentence] = {}


def sentence_for(*ids: str) -> Callable[[Sentence], Sentence]:
    """Register a function for the ids of reasons."""

    def register(function: Sentence) -> Sentence:
        for each in ids:
            _SENTENCES[each] = function
        return function

    return register


def dominating_sentence(dominating: Dominating) -> str:
    """The sentence for the reason at which no node is left."""
    from stowplan.insight.sentences import (  # noqa: F401 (they register)
        devices,
        node_affinity,
        pod_affinity,
        ports,
        resources,
        spread,
        taints,
        volumes,
    )

    function = _SENTENCES.get(dominating.refusal.id)
    if function is not None:
        return function(dominating)
    return f"{dominating.refusal.plugin} rejects {nodes_in_words(dominating.nodes)}: {dominating.refusal.text}."


def nodes_in_words(count: int, every: str = "all") -> str:
    """`the only node`, `both nodes`, `all 1,234 nodes`."""
    return "the only node" if count == 1 else f"{every} {count:,} nodes"


def left_in_words(dominating: Dominating) -> str:
    """The nodes left before the rule: `the only node`, `the 95 nodes with pool=gpu`, `the 3 nodes that are left`."""
    number = dominating.nodes
    nodes = "the only node" if number == 1 else f"the {number:,} nodes"
    if number == dominating.all_nodes:
        return nodes
    selecting = [step for step in dominating.eliminations[:-1] if step.plugin == "NodeAffinity"]
    if selecting and len(dominating.eliminations) == 2:
        info = dominating.matrix.table.infos[int(np.flatnonzero(selecting[0].lost)[0])]
        wanted = "" if info is None else dominating.matrix.explain("NodeAffinity", info)[0].wanted
        return f"{nodes} with {wanted}"
    return f"{nodes} that {'is' if number == 1 else 'are'} left"
