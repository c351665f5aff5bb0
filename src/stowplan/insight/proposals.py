"""Changes of the pod that would help, each checked on all nodes."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from stowplan.framework import Change
from stowplan.framework.explanation import Proposal
from stowplan.insight.altered import feasible_with
from stowplan.insight.matrix import FilterMatrix

MAX_CHECKED_PROPOSALS = 32


def pod_proposals(matrix: FilterMatrix) -> Generator[None, None, list[Proposal]]:
    """The changes of the pod that open at least one node, with the number of nodes that each opens."""
    found = []
    for change in candidates(matrix)[:MAX_CHECKED_PROPOSALS]:
        slots = feasible_with(matrix.profile, matrix.pod, change.patch)
        if len(slots):
            best = min(info.name for slot in slots.tolist() if (info := matrix.table.infos[slot]) is not None)
            found.append(Proposal(change=change, opens=len(slots), best=best))
        yield
    return found


def candidates(matrix: FilterMatrix) -> list[Change]:
    """Distinct changes of the pod, from the refusals of nodes that one plugin alone rejects; the smallest first."""
    distinct: dict[tuple[object, ...], Change] = {}
    for plugin in matrix.by_plugin():
        for slot in np.flatnonzero(matrix.alone(plugin)).tolist():
            info = matrix.table.infos[slot]
            for refusal in matrix.explain(plugin, info) if info is not None else ():
                for change in refusal.changes:
                    if change.on == "pod" and change.patch:
                        distinct.setdefault((change.kind, change.text), change)
    return sorted(distinct.values(), key=lambda change: (change.effort, change.text))
