"""The fewest nodes like one of the cluster with which all pods in question are placed."""

from __future__ import annotations

from collections.abc import Mapping

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.node_changes import add_nodes
from stowplan.simulator.what_if.reasons import why
from stowplan.simulator.what_if.records import Enough, Why
from stowplan.simulator.what_if.references import find_node, workload_key
from stowplan.simulator.what_if.run import ClusterRun, is_daemon


def enough_nodes(run: ClusterRun, like: str, effects: Effects, pending: Mapping[str, int]) -> Enough:
    """`pending`: the pods that are pending without the changes, by workload.

    Double the number of nodes until no pod waits, then halve the interval; each try is a run of its own.

    With as many nodes as waiting pods each pod could have a node of its own, so no larger number is tried.
    """
    model = find_node(run.api_server, like)
    waiting = len(_waiting(run, effects, pending))
    if not waiting:
        return Enough(like=like, nodes=0)
    too_few, number = 0, 1
    while True:
        left, pod, reason = _left(run, model, min(number, waiting), effects, pending)
        if not left:
            break
        if number >= waiting:
            return Enough(like=like, nodes=-1, waiting=left, pod=pod, why=reason)
        too_few, number = number, number * 2
    most = min(number, waiting)
    while most - too_few > 1:
        middle = (too_few + most) // 2
        left, _, _ = _left(run, model, middle, effects, pending)
        too_few, most = (middle, most) if left else (too_few, middle)
    return Enough(like=like, nodes=most)


def _left(
    run: ClusterRun, model: api.Node, number: int, effects: Effects, pending: Mapping[str, int]
) -> tuple[int, str, Why | None]:
    """(the pods that still wait, the first of them, its reason)."""
    tried = run.copy()
    list(add_nodes(tried, model, number))
    tried.rest()
    waiting = _waiting(tried, effects, pending)
    return (len(waiting), waiting[0], why(tried, waiting[0])) if waiting else (0, "", None)


def _waiting(run: ClusterRun, effects: Effects, pending: Mapping[str, int]) -> list[str]:
    """The names of waiting pods in question that a node could help: gated pods and pods of other schedulers are left
    out. Pods of DaemonSets have their node already."""
    everything = effects.asks_pending or not effects.workloads
    found: dict[str, list[str]] = {}
    for pod in run.api_server.all(api.Pod):
        if not pod.spec.node_name and _waits_for_a_node(run, pod):
            found.setdefault(workload_key(run.api_server, pod), []).append(key_of(pod.metadata))
    if everything:
        return [name for names in found.values() for name in names]
    # Of other workloads, the pods that wait because of the changes.
    return [
        name
        for workload, names in found.items()
        for name in (names if workload in effects.workloads else names[pending.get(workload, 0) :])
    ]


def _waits_for_a_node(run: ClusterRun, pod: api.Pod) -> bool:
    spec = pod.spec
    return not is_daemon(pod) and not spec.scheduling_gates and spec.scheduler_name in run.simulation.engine.profiles
