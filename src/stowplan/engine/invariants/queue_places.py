"""Checks that every pending pod is in exactly one queue or in flight, and that something will eventually move it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from stowplan.engine.state import SUB_QUEUES, EngineState
from stowplan.framework import QueuedPodInfo


def misplaced(state: EngineState, bound: Set[str], suspended: bool) -> Iterator[str]:
    """Problems with the places of pods. `bound` are pods whose binding succeeded and that no watch has reported yet;
    while a cycle is `suspended`, its pod is in flight and nowhere else."""
    sub_queues: dict[str, str] = {}
    for name in SUB_QUEUES:
        for queued in getattr(state.queue, name):
            uid = queued.pod.uid
            if uid in sub_queues:
                yield f"pod {uid} is queued twice: {sub_queues[uid]} and {name}"
            sub_queues[uid] = name
            yield from _about_queued(state, name, queued)
    if len(sub_queues) != len(state.queue):
        yield f"the queue counts {len(state.queue)} pods and holds {len(sub_queues)}"
    yield from _about_pending(state, sub_queues)
    if not suspended:
        for queued in state.queue.in_flight_pods:
            if queued.pod.uid not in state.attempts:
                yield f"pod {queued.pod.uid} is in flight, and no attempt is under way"
    yield from _about_assumed(state, bound)
    yield from _about_nominated(state)


def _about_queued(state: EngineState, sub_queue: str, queued: QueuedPodInfo) -> Iterator[str]:
    uid = queued.pod.uid
    known = state.pending.get(uid)
    if known is None:
        yield f"pod {uid} is {sub_queue}, though not pending"
    elif known.pod is not queued.pod:
        yield f"pod {uid} is {sub_queue} in a version that is out of date"
    if state.queue.in_flight(uid):
        yield f"pod {uid} is {sub_queue} and in flight"
    if uid in state.attempts or uid in state.cluster.assumed:
        yield f"pod {uid} is {sub_queue} and on its way to a node"
    if sub_queue == "unschedulable" and not queued.rejected:
        yield f"pod {uid} is unschedulable though no plugin rejected it, so that no event would wake it"


def _about_pending(state: EngineState, sub_queues: Mapping[str, str]) -> Iterator[str]:
    """Pending pods are queued, in flight, or assumed; a terminating pod may be in none of these."""
    for uid, known in state.pending.items():
        if uid in state.cluster.assumed:
            continue
        if uid in state.cluster.pods:
            yield f"pod {uid} is pending and on node {state.cluster.pods[uid].node_name}"
        elif uid not in sub_queues and not state.queue.in_flight(uid) and not known.pod.terminating:
            yield f"pod {uid} is pending, and will never be tried"


def _about_assumed(state: EngineState, bound: Set[str]) -> Iterator[str]:
    """Every assumed pod is bound, or has an attempt that ends with it bound or forgotten."""
    cluster, attempts = state.cluster, state.attempts
    for uid in cluster.assumed:
        if uid not in cluster.pods or uid not in state.pending:
            yield f"pod {uid} is assumed, but gone"
        if uid not in attempts and uid not in bound:
            yield f"pod {uid} is assumed, and nothing is under way to bind it"
    for uid, attempt in attempts.items():
        if attempt.task is not None and not attempt.task.waits:
            yield f"pod {uid} is on its way to a node, and nothing is being waited for"
    for waiting in state.waiting_pods:
        uid = waiting.pod.uid
        if uid not in attempts:
            yield f"pod {uid} waits on Permit without an attempt"
        if uid not in cluster.assumed:
            yield f"pod {uid} waits on Permit and is not assumed"


def _about_nominated(state: EngineState) -> Iterator[str]:
    for node_name, pods in state.nominator.by_node.items():
        for uid, pod in pods.items():
            if state.nominator.node_of(pod) != node_name:
                yield f"pod {uid} is nominated to {node_name} and to {state.nominator.node_of(pod) or 'no node'}"
            if uid not in state.pending or uid in state.cluster.pods:
                yield f"pod {uid} is nominated to {node_name}, though not pending"
