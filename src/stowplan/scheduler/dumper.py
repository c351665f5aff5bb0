"""All that a scheduler knows, for its log: what SIGUSR2 asks for."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import logs
from stowplan.engine import Engine
from stowplan.framework import NodeInfo, Pod

log = logs.get(__name__)


def dump(engine: Engine) -> None:
    """Write nodes and queue to the log. To be called on the thread that the engine works on."""
    core = engine.core
    nominated = core.nominator.on_node
    nodes = "\n\n".join(_node(info, nominated(info.name)) for info in core.cluster.nodes)
    log.info("Dump of cached NodeInfo", nodes=nodes)
    queue = core.queue
    counts = queue.counts()
    unschedulable = counts["unschedulable"] + counts["gated"]
    summary = f"activeQ:{counts['active']}; backoffQ:{counts['backoff']}; unschedulablePods:{unschedulable}"
    waiting = (*queue.active, *queue.backoff, *queue.error_backoff, *queue.unschedulable, *queue.gated)
    log.info("Dump of scheduling queue", summary=summary, pods="".join(_pod(unit.pod) for unit in waiting))


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
    """In milli-cores of cpu, and whole units of all else."""
    return f"{{{' '.join(f'{name}:{amount}' for name, amount in sorted(amounts))}}}"


def _pod(pod: Pod) -> str:
    # Of the phase only that it is not over is known: Pending without a node, else whatever the kubelet says by now.
    phase = "" if pod.node_name else "Pending"
    return (
        f"name: {pod.name}, namespace: {pod.namespace}, uid: {pod.uid}, phase: {phase}, "
        f"nominated node: {pod.nominated_node_name}\n"
    )
