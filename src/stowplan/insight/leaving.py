"""The fewest pods that would have to leave a node for the pod to fit there."""

from __future__ import annotations

from stowplan.cache.ports import share_a_port, wanted_ports
from stowplan.framework import Change, NodeInfo, Pod
from stowplan.framework.explanation import LeavingPod
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.slices import Slices
from stowplan.runtime.decide.filtering import run_filters
from stowplan.runtime.decide.what_if import WhatIf

_MAX_LEAVING_PODS = 16
_EFFORT_OF_LOWER_PRIORITY, _EFFORT_OF_OTHERS = 5, 9


def leaving_pods(matrix: FilterMatrix, info: NodeInfo) -> Slices[Change | None]:
    """Pods of lower priority leave first; None if the pod would not fit after 16 pods have left."""
    ports = wanted_ports(matrix.pod.template)
    # The journal frees a port with the first of its holders, as kube-scheduler's dry run does; all of them must leave.
    holders = {pod.uid for pod in info.pods.values() if share_a_port(ports, wanted_ports(pod.template))}
    # Pods that are being deleted leave anyway; topology spread does not count them, but the journal takes them off.
    others = [pod for pod in info.pods.values() if not pod.terminating]
    if not holders <= {pod.uid for pod in others}:
        return None
    order = sorted(
        others, key=lambda pod: (pod.uid not in holders, _comes_back(pod), pod.priority, -_size(pod), pod.key)
    )
    gone: list[Pod] = []
    for pod in order[:_MAX_LEAVING_PODS]:
        gone.append(pod)
        if len(gone) >= len(holders) and _fits_without(matrix, info, gone):
            break
        yield
    else:
        return None
    for pod in gone[len(holders) : -1]:
        rest = [other for other in gone if other is not pod]
        if _fits_without(matrix, info, rest):
            gone = rest
        yield
    return _change(matrix.pod, info, gone)


def _comes_back(pod: Pod) -> bool:
    """Whether a DaemonSet starts the pod again on the same node; such pods leave last."""
    owner = pod.template.controller
    return owner is not None and owner.kind == "DaemonSet"


def _size(pod: Pod) -> int:
    return sum(pod.template.requests.values())


def _fits_without(matrix: FilterMatrix, info: NodeInfo, gone: list[Pod]) -> bool:
    with WhatIf(matrix.profile, matrix.state, matrix.pod) as what_if:
        for pod in gone:
            what_if.remove(pod, info)
        return run_filters(matrix.profile.filters, what_if.state, matrix.pod, info) is None


def _change(pod: Pod, info: NodeInfo, gone: list[Pod]) -> Change:
    lower = all(other.priority < pod.priority for other in gone)
    others = "" if len(gone) == 1 else f" and {len(gone) - 1} more"
    return Change(
        kind="leave",
        on="node",
        node=info.name,
        text=f"{gone[0].key}{others} leave{'s' if len(gone) == 1 else ''}",
        effort=(_EFFORT_OF_LOWER_PRIORITY if lower else _EFFORT_OF_OTHERS) + len(gone),
        pods=tuple(LeavingPod(other.key, other.priority) for other in gone),
    )
