"""What becomes of a pod's status when its conditions are written and when it starts on a node."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from stowplan import api

PENDING = api.PodStatus(phase="Pending")
"""Of a pod that was just made."""

_FINISHED = ("Succeeded", "Failed")


def is_finished(pod: api.Pod) -> bool:
    """Whether all its containers have ended for good."""
    return pod.status.phase in _FINISHED


def is_active(pod: api.Pod) -> bool:
    """Whether controllers count on it: neither finished nor on its way out."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in _FINISHED


def is_healthy(pod: api.Pod) -> bool:
    """Whether it serves. Pods do so here once they are bound, but for those that ran without being ready before."""
    if not pod.spec.node_name or not is_active(pod):
        return False
    status = pod.status
    return status.phase != "Running" or all(each.type != "Ready" or each.status == "True" for each in status.conditions)


def with_condition(status: api.PodStatus, condition: api.Condition, now: str) -> api.PodStatus:
    """The status with a condition in place of the one of its type; the time of transition is that of its status."""
    since = now
    others = []
    for each in status.conditions:
        if each.type != condition.type:
            others.append(each)
        elif each.status == condition.status:
            since = each.last_transition_time
    return replace(status, conditions=(*others, replace(condition, last_transition_time=since)))


def started(pod: api.Pod, node_name: str, now: str) -> api.Pod:
    """The pod bound to a node, where it runs at once; binding clears its nomination."""
    scheduled = _scheduled(now)
    conditions = (scheduled, *(each for each in pod.status.conditions if each.type != scheduled.type))
    status = replace(pod.status, phase="Running", start_time=now, nominated_node_name="", conditions=conditions)
    return replace(pod, spec=replace(pod.spec, node_name=node_name), status=status)


@lru_cache(16)
def _scheduled(now: str) -> api.Condition:
    """One object for all pods of a second."""
    return api.Condition(type="PodScheduled", status="True", last_transition_time=now)
