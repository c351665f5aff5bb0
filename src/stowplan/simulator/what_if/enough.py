"""The fewest nodes like one of the cluster with which everything that was asked about is placed."""

from __future__ import annotations

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.node_changes import add_nodes
from stowplan.simulator.what_if.reasons import why
from stowplan.simulator.what_if.records import Enough, Why
from stowplan.simulator.what_if.references import find_node, workload_key
from stowplan.simulator.what_if.run import ClusterRun, is_daemon


def enough_nodes(run: ClusterRun, like: str, effects: Effects) -> Enough:
    """Double the number of nodes until no pod waits, then halve the interval; each try is a run of its own.

    With as many nodes as waiting pods each pod could have a node of its own, so no larger number is tried.
    """
    model = find_node(run.api_server, like)
    waiting = len(_waiting(run, effects))
    if not waiting:
        return Enough(like=like, nodes=0)
    too_few, number = 0, 1
    while True:
        left, reason = _left(run, model, min(number, waiting), effects)
        if not left:
            break
        if number >= waiting:
            return Enough(like=like, nodes=-1, waiting=left, why=reason)
        too_few, number = number, number * 2
    most = min(number, waiting)
    while most - too_few > 1:
        middle = (too_few + most) // 2
        left, _ = _left(run, model, middle, effects)
        too_few, most = (middle, most) if left else (too_few, middle)
    return Enough(like=like, nodes=most)


def _left(run: ClusterRun, model: api.Node, number: int, effects: Effects) -> tuple[int, Why | None]:
    tried = run.copy()
    list(add_nodes(tried, model, number))
    tried.rest()
    waiting = _waiting(tried, effects)
    return len(waiting), why(tried, waiting[0]) if waiting else None


def _waiting(run: ClusterRun, effects: Effects) -> list[str]:
    """The names of waiting pods that were asked about. Pods of DaemonSets have their node already."""
    everything = effects.asks_pending or not effects.workloads
    pods = [pod for pod in run.api_server.all(api.Pod) if not pod.spec.node_name]
    if everything:
        return [key_of(pod.metadata) for pod in pods if not is_daemon(pod)]
    return [key_of(pod.metadata) for pod in pods if workload_key(run.api_server, pod) in effects.workloads]
