"""Proposals: changes of the pod, or a further node, that would help; each checked on all nodes."""

from __future__ import annotations

from stowplan.framework import Change
from stowplan.framework.explanation import Proposal
from stowplan.insight.altered import best_node, diagnose_altered
from stowplan.insight.candidates import pod_changes
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.slices import Slices

MAX_CHECKED_PROPOSALS = 32
_MORE_NODES = 3


def pod_proposals(matrix: FilterMatrix) -> Slices[list[Proposal]]:
    """The changes of the pod that open nodes, with the number of nodes; the smallest change of each kind, and larger
    ones only if they open several times as many nodes."""
    found: list[Proposal] = []
    opened: dict[str, int] = {}
    for change in pod_changes(matrix)[:MAX_CHECKED_PROPOSALS]:
        proposal = _check(matrix, change)
        if proposal is not None and proposal.opens >= opened.get(change.kind, 0) * _MORE_NODES:
            opened[change.kind] = proposal.opens
            found.append(proposal)
        yield
    return found


def _check(matrix: FilterMatrix, change: Change) -> Proposal | None:
    diagnosis = diagnose_altered(matrix.profile, matrix.pod, change.patch)
    if diagnosis is None or not len(diagnosis.feasible):
        return None
    return Proposal(change=change, opens=len(diagnosis.feasible), best=best_node(diagnosis))
