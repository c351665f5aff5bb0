"""Where pods may be: each in exactly one place, with somebody who sees to it that it does not stay there for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from stowplan.engine.state import EngineState
from stowplan.queue import QueuedPod

_PARTS = ("active", "backoff", "error_backoff", "unschedulable", "gated")


def misplaced(core: EngineState, bound: Set[str], suspended: bool) -> Iterator[str]:
    """What is wrong with the places of pods. `bound` are those whose binding succeeded although no watch told so yet;
    while a cycle is `suspended`, its pod is in flight and nowhere else."""
    queued: dict[str, str] = {}
    for part in _PARTS:
        for unit in getattr(core.queue, part):
            if unit.pod.uid in queued:
                yield f"pod {unit.pod.uid} is queued twice: {queued[unit.pod.uid]} and {part}"
            queued[unit.pod.uid] = part
            yield from _about_queued(core, part, unit)
    if len(queued) != len(core.queue):
        yield f"the queue counts {len(core.queue)} pods and holds {len(queued)}"
    yield from _about_pending(core, queued)
    if not suspended:
        for unit in core.queue.flying:
            if unit.pod.uid not in core.attempts:
                yield f"pod {unit.pod.uid} is in flight, and no attempt is under way"
    yield from _about_assumed(core, bound)
    yield from _about_nominated(core)


def _about_queued(core: EngineState, part: str, unit: QueuedPod) -> Iterator[str]:
    uid = unit.pod.uid
    known = core.pending.get(uid)
    if known is None:
        yield f"pod {uid} is {part}, though not pending"
    elif known.pod is not unit.pod:
        yield f"pod {uid} is {part} in a version that is out of date"
    if core.queue.in_flight(uid):
        yield f"pod {uid} is {part} and in flight"
    if uid in core.attempts or uid in core.cluster.assumed:
        yield f"pod {uid} is {part} and on its way to a node"
    if part == "unschedulable" and not unit.rejected:
        yield f"pod {uid} is unschedulable though nobody rejected it, so that no event would wake it"


def _about_pending(core: EngineState, queued: Mapping[str, str]) -> Iterator[str]:
    """Pending pods are queued, in flight, or on their way to a node. One that is being deleted may be nowhere."""
    for uid, known in core.pending.items():
        if uid in core.cluster.assumed:
            continue
        if uid in core.cluster.pods:
            yield f"pod {uid} is pending and on node {core.cluster.pods[uid].node_name}"
        elif uid not in queued and not core.queue.in_flight(uid) and not known.pod.terminating:
            yield f"pod {uid} is pending, and nobody will ever try it"


def _about_assumed(core: EngineState, bound: Set[str]) -> Iterator[str]:
    """Assumed pods end bound or forgotten."""
    cluster, attempts = core.cluster, core.attempts
    for uid in cluster.assumed:
        if uid not in cluster.pods or uid not in core.pending:
            yield f"pod {uid} is assumed, but gone"
        if uid not in attempts and uid not in bound:
            yield f"pod {uid} is assumed, and nothing is under way to bind it"
    for uid, attempt in attempts.items():
        if attempt.task is not None and not attempt.task.waits:
            yield f"pod {uid} is on its way to a node, and nothing is being waited for"
    for waiting in core.waiting_pods:
        uid = waiting.pod.uid
        if uid not in attempts:
            yield f"pod {uid} waits on Permit, and nobody waits for the outcome"
        if uid not in cluster.assumed:
            yield f"pod {uid} waits on Permit and is not assumed"


def _about_nominated(core: EngineState) -> Iterator[str]:
    for node_name, pods in core.nominator.by_node.items():
        for uid, pod in pods.items():
            if core.nominator.node_of(pod) != node_name:
                yield f"pod {uid} is nominated to {node_name} and to {core.nominator.node_of(pod) or 'no node'}"
            if uid not in core.pending or uid in core.cluster.pods:
                yield f"pod {uid} is nominated to {node_name}, though not pending"
