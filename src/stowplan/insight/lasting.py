"""Lasting refusals: nodes that stay infeasible as long as the pod and the nodes are as they are.

A refusal is lasting if it does not depend on other pods, nor on the passing state of a node (ready, cordoned). Nodes
that a plugin rejects with the same status are alike in this, except that taints differ by taint set, and devices by
node.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stowplan.framework import Mask
from stowplan.insight.matrix import FilterMatrix, Rejected
from stowplan.insight.slices import Slices

TAINTS = "TaintToleration"
DEVICES = "DynamicResources"


def lasting_rejections(matrix: FilterMatrix) -> Slices[list[Rejected]]:
    """The rejections that keep nodes infeasible. For devices, not all nodes are examined if one of them may become
    feasible."""
    found: list[Rejected] = []
    for rejected in matrix.rejected:
        if rejected.plugin == DEVICES:
            continue
        for nodes in alike(matrix, rejected):
            info = matrix.table.infos[int(np.flatnonzero(nodes)[0])]
            if info is not None and (info.slot, rejected.plugin) not in matrix.beside_nominated:
                refusals = matrix.explain(rejected.plugin, info)
                if any(refusal.lasting for refusal in refusals if _speaks_of(refusal.reasons, rejected)):
                    found.append(rejected._replace(nodes=nodes))
            yield
    yield from _add_devices(matrix, found)
    return found


def _add_devices(matrix: FilterMatrix, found: list[Rejected]) -> Slices[None]:
    """Devices differ from node to node; the first node whose refusal passes decides that the pod may fit one day."""
    lasting = union(matrix, found)
    for rejected in matrix.rejected:
        nodes = np.zeros(matrix.high, dtype=np.bool_)
        for slot in np.flatnonzero(rejected.nodes & ~lasting).tolist() if rejected.plugin == DEVICES else ():
            info = matrix.table.infos[slot]
            refusals = [] if info is None else matrix.explain(DEVICES, info)
            if not any(refusal.lasting for refusal in refusals if _speaks_of(refusal.reasons, rejected)):
                break
            nodes[slot] = True
            yield
        if nodes.any():
            found.append(rejected._replace(nodes=nodes))
            lasting |= nodes


def union(matrix: FilterMatrix, rejections: Iterable[Rejected]) -> Mask:
    """By slot: whether one of the rejections is of the node."""
    found = np.zeros(matrix.high, dtype=np.bool_)
    for _, _, nodes in rejections:
        found |= nodes
    return found


def alike(matrix: FilterMatrix, rejected: Rejected) -> list[Mask]:
    """The rejected nodes in groups whose refusals have the same ids."""
    if rejected.plugin != TAINTS:
        return [rejected.nodes]
    taint_sets = matrix.table.taint_set[: matrix.high]
    numbers = np.unique(taint_sets[rejected.nodes])
    return [rejected.nodes & (taint_sets == number) for number in numbers]


def _speaks_of(reasons: tuple[str, ...], rejected: Rejected) -> bool:
    """Whether a refusal is about this status; one that names no reasons is about all of its plugin's."""
    return not reasons or not set(reasons).isdisjoint(rejected.status.reasons)
