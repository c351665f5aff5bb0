"""Pod status: predicates, conditions, and the start of a pod on a node."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from stowplan import api
from stowplan.api.pod import FINISHED_PHASES

PENDING = api.PodStatus(phase="Pending")
"""The status of a new pod."""


def is_finished(pod: api.Pod) -> bool:
    """Whether the pod has succeeded or failed."""
    return pod.status.phase in FINISHED_PHASES


def is_active(pod: api.Pod) -> bool:
    """Whether the pod is neither finished nor terminating (upstream's IsPodActive)."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in FINISHED_PHASES


def is_healthy(pod: api.Pod) -> bool:
    """Whether the pod is ready. Pods are ready once bound, except those of a snapshot that ran without being ready."""
    if not pod.spec.node_name or not is_active(pod):
        return False
    status = pod.status
    return status.phase != "Running" or all(each.type != "Ready" or each.status == "True" for each in status.conditions)


def with_condition(status: api.PodStatus, condition: api.Condition, now: str) -> api.PodStatus:
    """The status with the condition replaced; lastTransitionTime changes only with the condition's status."""
    since = now
    others = []
    for each in status.conditions:
        if each.type != condition.type:
            others.append(each)
        elif each.status == condition.status:
            since = each.last_transition_time
    return replace(status, conditions=(*others, replace(condition, last_transition_time=since)))


def started(pod: api.Pod, node_name: str, now: str) -> api.Pod:
    """The pod bound to a node and running at once; its nomination is cleared."""
    scheduled = _scheduled(now)
    conditions = (scheduled, *(each for each in pod.status.conditions if each.type != scheduled.type))
    status = replace(pod.status, phase="Running", start_time=now, nominated_node_name="", conditions=conditions)
    return replace(pod, spec=replace(pod.spec, node_name=node_name), status=status)


@lru_cache(16)
def _scheduled(now: str) -> api.Condition:
    """Shared by all pods bound in the same second."""
    return api.Condition(type="PodScheduled", status="True", last_transition_time=now)
