"""Proposals: changes of the pod, or a further node, that would help; each checked on all nodes."""

from __future__ import annotations

from stowplan.framework import Change, NodeInfo, PatchOperation
from stowplan.framework.explanation import Proposal
from stowplan.insight.altered import altered_pod, best_node, diagnose_altered, further_node, status_on
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
    changes = yield from pod_changes(matrix)
    yield
    for change in changes[:MAX_CHECKED_PROPOSALS]:
        proposal = yield from _check(matrix, change)
        if proposal is not None and proposal.opens >= opened.get(change.kind, 0) * _MORE_NODES:
            opened[change.kind] = proposal.opens
            found.append(proposal)
        yield
    return found


def node_proposal(matrix: FilterMatrix, like: NodeInfo) -> Proposal | None:
    """One more node like another, if the pod fits there while it is empty."""
    with further_node(matrix.profile, like, f"{like.name}-like") as info:
        if status_on(matrix.profile, matrix.pod, info) is not None:
            return None
    change = Change(kind="add", on="cluster", text=f"one more node like {like.name}", effort=10, node=like.name)
    return Proposal(change=change, opens=1)


def priority_proposal(matrix: FilterMatrix) -> Proposal | None:
    """The priority above that of all pods, if evictions would then make room."""
    profile, pod = matrix.profile, matrix.pod
    highest = max(profile.cluster.priorities, default=pod.priority)
    if pod.spec.preemption_policy == "Never" or highest < pod.priority:
        return None
    patch = (PatchOperation("add", "/spec/priority", highest + 1),)
    found = profile.explain_decision(altered_pod(profile, pod, patch)).preemption
    if found is None or found.chosen is None:
        return None
    text = f"priority {highest + 1:,} or more, which evicts {len(found.victims)} pods of {found.node_name}"
    change = Change(kind="priority", on="pod", text=text.replace("1 pods", "1 pod"), effort=6, patch=patch)
    return Proposal(change=change, opens=len(found.candidates), best=found.node_name)


def _check(matrix: FilterMatrix, change: Change) -> Slices[Proposal | None]:
    diagnosis = diagnose_altered(matrix.profile, matrix.pod, change.patch)
    if diagnosis is None or not len(diagnosis.feasible):
        return None
    yield
    return Proposal(change=change, opens=len(diagnosis.feasible), best=best_node(diagnosis))
