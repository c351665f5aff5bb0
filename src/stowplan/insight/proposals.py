"""Proposals: changes of the pod, or a further node, that would help; each checked on all nodes."""

from __future__ import annotations

from stowplan.framework import Change, NodeInfo, PatchOperation, Pod
from stowplan.framework.explanation import Proposal
from stowplan.insight.altered import altered_pod, best_node, diagnose_altered, further_node, status_on
from stowplan.insight.candidates import pod_changes
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import workload_of
from stowplan.runtime.preemption import Preemption

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
    """The lowest priority with which evictions make room.

    With a priority above that of all pods, preemption chooses the node whose most important victim has the lowest
    priority; the priority above that one is enough, unless the choice was about disruption budgets."""
    pod = matrix.pod
    highest = max(matrix.profile.cluster.priorities, default=pod.priority)
    if pod.spec.preemption_policy == "Never" or highest < pod.priority:
        return None
    priority = highest + 1
    found = _preemption_with(matrix, priority)
    if found is None or found.chosen is None or _evicts_siblings(pod, found):
        return None
    enough = max(victim.priority for victim in found.chosen.victims) + 1
    lower = _preemption_with(matrix, enough) if pod.priority < enough < priority else None
    if lower is not None and lower.chosen is not None:
        priority, found = enough, lower
    text = f"priority {priority:,} or more, which evicts {len(found.victims)} pods of {found.node_name}"
    patch = _priority_patch(priority)
    change = Change(kind="priority", on="pod", text=text.replace("1 pods", "1 pod"), effort=6, patch=patch)
    return Proposal(change=change, opens=len(found.candidates), best=found.node_name)


def _preemption_with(matrix: FilterMatrix, priority: int) -> Preemption | None:
    altered = altered_pod(matrix.profile, matrix.pod, _priority_patch(priority))
    return matrix.profile.explain_decision(altered).preemption


def _evicts_siblings(pod: Pod, found: Preemption) -> bool:
    """Whether a victim belongs to the pod's own workload, whose pods all have the same priority."""
    owner = workload_of(pod)
    if owner is None:
        return False
    return any(victim.namespace == pod.namespace and workload_of(victim) == owner for victim in found.victims)


def _priority_patch(priority: int) -> tuple[PatchOperation, ...]:
    return (PatchOperation("add", "/spec/priority", priority),)


def _check(matrix: FilterMatrix, change: Change) -> Slices[Proposal | None]:
    diagnosis = diagnose_altered(matrix.profile, matrix.pod, change.patch)
    if diagnosis is None or not len(diagnosis.feasible):
        return None
    yield
    return Proposal(change=change, opens=len(diagnosis.feasible), best=best_node(diagnosis))
