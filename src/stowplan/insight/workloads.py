"""The workload that a pod belongs to, and references to workloads: `Deployment/web`."""

from __future__ import annotations

from typing import NamedTuple

from stowplan.framework import Pod
from stowplan.framework.pod_group import group_name

_HASH_LABEL = "pod-template-hash"
_POD_GROUP = "PodGroup"
_KINDS = {
    "deployment": "Deployment",
    "deploy": "Deployment",
    "statefulset": "StatefulSet",
    "sts": "StatefulSet",
    "daemonset": "DaemonSet",
    "ds": "DaemonSet",
    "replicaset": "ReplicaSet",
    "rs": "ReplicaSet",
    "job": "Job",
    "podgroup": _POD_GROUP,
}
"""kubectl's names of kinds, without the plural s."""


class WorkloadName(NamedTuple):
    """Kind and name of a controller of pods, or of a pod group."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class WorkloadReference(NamedTuple):
    """A workload in a namespace."""

    namespace: str
    workload: WorkloadName


def workload_of(pod: Pod) -> WorkloadName | None:
    """The pod's controller; for the ReplicaSet of a Deployment, the Deployment. Without a controller, the pod group."""
    owner = pod.template.controller
    if owner is None:
        group = group_name(pod)
        return WorkloadName(_POD_GROUP, group) if group else None
    suffix = f"-{pod.labels.get(_HASH_LABEL, '')}"
    if owner.kind == "ReplicaSet" and len(suffix) > 1 and owner.name.endswith(suffix):
        return WorkloadName("Deployment", owner.name.removesuffix(suffix))
    return WorkloadName(owner.kind, owner.name)


def belongs_to(pod: Pod, reference: WorkloadReference) -> bool:
    """Whether the pod is of the workload, by its controller or the Deployment above it, or of the pod group."""
    if pod.namespace != reference.namespace:
        return False
    if reference.workload.kind == _POD_GROUP:
        return group_name(pod) == reference.workload.name
    owner = pod.template.controller
    return workload_of(pod) == reference.workload or (
        owner is not None and (owner.kind, owner.name) == reference.workload
    )


def workload_reference(reference: str, namespace: str) -> WorkloadReference | None:
    """`Deployment/web`, `deploy/web`, `shop/Deployment/web`; None for other references."""
    *space, kind, name = ["", *reference.split("/")][-3:] if reference.count("/") <= 2 else ["", "", ""]
    known = _KINDS.get(kind.lower().removesuffix("s") if kind.lower() not in _KINDS else kind.lower())
    if known is None and not kind[:1].isupper():
        return None
    return WorkloadReference((space[0] if space else "") or namespace, WorkloadName(known or kind, name))
