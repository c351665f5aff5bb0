"""Lasting refusals: nodes that stay infeasible as long as the pod and the nodes are as they are.

A refusal is lasting if it does not depend on other pods, nor on the passing state of a node (ready, cordoned). Nodes
that a plugin rejects with the same status are alike in this, except that taints differ by taint set, and devices by
node.
"""

from __future__ import annotations

import numpy as np

from stowplan.framework import Mask
from stowplan.insight.matrix import FilterMatrix, Rejected

TAINTS = "TaintToleration"
DEVICES = "DynamicResources"
_MAX_EXAMINED_NODES = 256
"""The devices of more nodes than this are not examined one by one: their refusals are taken to be passing."""


def lasting_nodes(matrix: FilterMatrix) -> Mask:
    """By slot: whether a lasting refusal keeps the node infeasible."""
    found = np.zeros(matrix.high, dtype=np.bool_)
    for rejected in matrix.rejected:
        for nodes in alike(matrix, rejected):
            info = matrix.table.infos[int(np.flatnonzero(nodes)[0])]
            if info is not None and not matrix.rivals[info.slot]:
                refusals = matrix.explain(rejected.plugin, info)
                if any(refusal.lasting for refusal in refusals if _speaks_of(refusal.reasons, rejected)):
                    found |= nodes
    return found


def alike(matrix: FilterMatrix, rejected: Rejected) -> list[Mask]:
    """The rejected nodes in groups whose refusals have the same ids."""
    if rejected.plugin == DEVICES:
        slots = np.flatnonzero(rejected.nodes).tolist()
        all_slots = np.arange(len(rejected.nodes))
        return [all_slots == slot for slot in slots] if len(slots) <= _MAX_EXAMINED_NODES else []
    if rejected.plugin != TAINTS:
        return [rejected.nodes]
    taint_sets = matrix.table.taint_set[: matrix.high]
    numbers = np.unique(taint_sets[rejected.nodes])
    return [rejected.nodes & (taint_sets == number) for number in numbers]


def _speaks_of(reasons: tuple[str, ...], rejected: Rejected) -> bool:
    """Whether a refusal is about this status; one that names no reasons is about all of its plugin's."""
    return not reasons or not set(reasons).isdisjoint(rejected.status.reasons)
