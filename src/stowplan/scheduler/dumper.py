"""Dumps the cache and the queue to the log upon SIGUSR2.

Upstream: pkg/scheduler/backend/cache/debugger/dumper.go
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import logs
from stowplan.engine import Engine
from stowplan.framework import NodeInfo, Pod

log = logs.get(__name__)


def dump(engine: Engine) -> None:
    """Log all nodes and queued pods. Must run on the engine's thread."""
    nodes = "\n\n".join(_node(info, engine.nominated_pods(info.name)) for info in engine.cluster.nodes)
    log.info("Dump of cached NodeInfo", nodes=nodes)
    counts = engine.queue_counts()
    unschedulable = counts["unschedulable"] + counts["gated"]
    summary = f"activeQ:{counts['active']}; backoffQ:{counts['backoff']}; unschedulablePods:{unschedulable}"
    pods = "".join(_pod(queued.pod) for queued in engine.queued_pods())
    log.info("Dump of scheduling queue", summary=summary, pods=pods)


def _node(info: NodeInfo, nominated: Iterable[Pod]) -> str:
    pods = list(info.pods.values())
    lines = [
        f"Node name: {info.name}\nDeleted: false\n"
        f"Requested Resources: {_resources(info.requested.items())}\n"
        f"Allocatable Resources:{_resources(info.allocatable.items())}\n"
        f"Scheduled Pods(number: {len(pods)}):\n",
        *map(_pod, pods),
    ]
    expected = list(nominated)
    if expected:
        lines += [f"Nominated Pods(number: {len(expected)}):\n", *map(_pod, expected)]
    return "".join(lines)


def _resources(amounts: Iterable[tuple[str, int]]) -> str:
    """Cpu in millicores, all other resources in whole units."""
    return f"{{{' '.join(f'{name}:{amount}' for name, amount in sorted(amounts))}}}"


def _pod(pod: Pod) -> str:
    # The phase is not cached: a pod without a node is Pending, the phase of any other pod is up to its kubelet.
    phase = "" if pod.node_name else "Pending"
    return (
        f"name: {pod.name}, namespace: {pod.namespace}, uid: {pod.uid}, phase: {phase}, "
        f"nominated node: {pod.nominated_node_name}\n"
    )
