"""The order of rules in an explanation, and the rule at which no node is left.

Rules apply in the order of intent: which nodes are meant, relations to other pods, then amounts. The rule at which no
node is left dominates; the nodes that were left before it give the figures of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from stowplan.framework import Mask, Status
from stowplan.insight.matrix import FilterMatrix, Rejected


class StepKind(StrEnum):
    IDENTITY = "identity"
    LOCATION = "location"
    RELATION = "relation"
    AMOUNT = "amount"
    EXTENDER = "extender"


class Rank(NamedTuple):
    """The position of a rule, and what it is about."""

    number: int
    kind: StepKind


_RANKS = {
    "NodeName": Rank(1, StepKind.IDENTITY),
    "NodeAffinity": Rank(2, StepKind.IDENTITY),
    "NodeDeclaredFeatures": Rank(3, StepKind.IDENTITY),
    "TaintToleration": Rank(4, StepKind.IDENTITY),
    "NodeUnschedulable": Rank(6, StepKind.IDENTITY),
    "VolumeZone": Rank(7, StepKind.LOCATION),
    "VolumeBinding": Rank(12, StepKind.AMOUNT),
    "InterPodAffinity": Rank(9, StepKind.RELATION),
    "PodTopologySpread": Rank(9, StepKind.RELATION),
    "NodePorts": Rank(11, StepKind.AMOUNT),
    "VolumeRestrictions": Rank(11, StepKind.AMOUNT),
    "NodeVolumeLimits": Rank(12, StepKind.AMOUNT),
    "DynamicResources": Rank(13, StepKind.AMOUNT),
    "NodeResourcesFit": Rank(14, StepKind.AMOUNT),
}
_RANKS_BY_REASON = {
    ("VolumeBinding", "node(s) didn't match PersistentVolume's node affinity"): Rank(7, StepKind.LOCATION),
    ("DynamicResources", "resourceclaim not available on the node"): Rank(7, StepKind.LOCATION),
    ("InterPodAffinity", "node(s) didn't match pod affinity rules"): Rank(8, StepKind.RELATION),
}
_OUT_OF_TREE_OF_NODE = Rank(5, StepKind.IDENTITY)
_OUT_OF_TREE = Rank(10, StepKind.RELATION)


class Elimination(NamedTuple):
    """One rule, and the nodes that it leaves of those before it."""

    plugin: str
    rank: Rank
    lost: Mask
    left: Mask


def rank_of(matrix: FilterMatrix, plugin: str, status: Status) -> Rank:
    for reason in status.reasons:
        found = _RANKS_BY_REASON.get((plugin, reason))
        if found is not None:
            return found
    if plugin in _RANKS:
        return _RANKS[plugin]
    known = matrix.plugin(plugin)
    return _OUT_OF_TREE_OF_NODE if known is not None and known.scope == "node" else _OUT_OF_TREE


def eliminate(matrix: FilterMatrix, rejections: Iterable[Rejected] | None = None) -> list[Elimination]:
    """The rules that remove nodes, in order, up to the one that leaves none; of all rejections, or of some."""
    masks: dict[tuple[Rank, str], Mask] = {}
    for plugin, status, nodes in matrix.rejected if rejections is None else rejections:
        key = (rank_of(matrix, plugin, status), plugin)
        masks[key] = masks[key] | nodes if key in masks else nodes
    left = matrix.alive.copy()
    found = []
    for (rank, plugin), nodes in sorted(masks.items(), key=lambda item: item[0]):
        lost = left & nodes
        if lost.any():
            left = left & ~lost
            found.append(Elimination(plugin, rank, lost, left))
            if not left.any():
                break
    return found


def left_before(matrix: FilterMatrix, eliminations: list[Elimination]) -> Mask:
    """The nodes left before the last rule."""
    return eliminations[-2].left if len(eliminations) > 1 else matrix.alive


def count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))
