"""The page of one node."""

from __future__ import annotations

from stowplan.engine import Engine
from stowplan.framework import NodeInfo, Pod
from stowplan.web.columns import Times, flags_of, taint_text
from stowplan.web.pod_table import workload_key
from stowplan.web.wire import NodePage, PodOnNode


def node_page(engine: Engine, info: NodeInfo, epoch: str, revision: int, times: Times) -> NodePage:
    """The node with its pods, the largest first."""
    allocatable = dict(info.allocatable)
    pods = [(_share(pod, allocatable), _row(engine, pod)) for pod in info.pods.values()]
    pods.sort(key=lambda item: (-item[0], item[1].pod))
    return NodePage(
        epoch=epoch,
        revision=revision,
        slot=info.slot,
        name=info.name,
        labels=dict(info.labels),
        taints=[taint_text(taint) for taint in info.taints],
        flags=flags_of(info.node, times),
        conditions={each.type: each.status for each in info.node.status.conditions},
        kubelet=info.node.status.node_info.kubelet_version,
        created=info.node.metadata.creation_timestamp or "",
        allocatable=allocatable,
        requested=dict(info.requested),
        pods=[row for _, row in pods],
        nominated=sorted(pod.key for pod in engine.nominated_pods(info.name)),
    )


def _row(engine: Engine, pod: Pod) -> PodOnNode:
    state = "terminating" if pod.terminating else "assumed" if pod.uid in engine.cluster.assumed else "running"
    return PodOnNode(
        pod=pod.key,
        workload=workload_key(pod),
        priority=pod.priority,
        since=pod.start_time,
        requests=dict(pod.template.requests if pod.used is None else pod.used[0]),
        state=state,
    )


def _share(pod: Pod, allocatable: dict[str, int]) -> float:
    """The pod's share of the resource of which it takes most."""
    requests = pod.template.requests
    return max((amount / allocatable[name] for name, amount in requests.items() if allocatable.get(name)), default=0.0)
