"""Log lines of scheduling, with kube-scheduler's words and verbosity levels.

Upstream: pkg/scheduler/schedule_one.go, pkg/scheduler/eventhandlers.go, pkg/scheduler/framework/preemption
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan import api, logs
from stowplan.framework import Pod, QueuedPodInfo, Status
from stowplan.logs import ref
from stowplan.runtime import Decision
from stowplan.runtime.groups import GroupDecision

log = logs.get(__name__)

NO_NODES = "no nodes available to schedule pods"

SLOW_CYCLE_SECONDS = 0.1
"""A longer scheduling cycle is logged at every verbosity."""

EXPENSIVE_INTERVAL_SECONDS = 60.0
"""Expensive attempts are logged once per namespace in this interval."""

_EVENT_LINES = {
    "UnschedulablePodAdd": (3, "Add event for unscheduled pod"),
    "UnschedulablePodUpdate": (4, "Update event for unscheduled pod"),
    "UnschedulablePodDelete": (3, "Delete event for unscheduled pod"),
    "AssignedPodAdd": (3, "Add event for scheduled pod"),
    "AssignedPodUpdate": (4, "Update event for scheduled pod"),
    "AssignedPodDelete": (3, "Delete event for scheduled pod"),
    "NodeAdd": (3, "Add event for node"),
    "NodeDelete": (3, "Delete event for node"),
}
"""Verbosity and message by the event's label."""

_QUEUES = {"active": "Active", "backoff": "Backoff", "unschedulable": "Unschedulable"}


def event_received(event: str, about: Any) -> None:
    level, message = _EVENT_LINES.get(event, (0, ""))
    if isinstance(about, Pod):
        log.v(level, message, pod=ref(about))
    elif message and about is not None:
        log.v(level, message, node=about.metadata.name)


def node_updated(node: api.Node) -> None:
    log.v(4, "Update event for node", node=node.metadata.name)


def attempt_started(queued: QueuedPodInfo) -> None:
    log.v(3, "Attempting to schedule pod", pod=ref(queued.pod))


def decided(queued: QueuedPodInfo, decision: Decision) -> None:
    pod = ref(queued.pod)
    if log.verbosity >= 10:
        _scores(decision)
    if decision.node_name:
        return
    if not decision.profile.post_filters:
        log.v(3, "No PostFilter plugins are registered, so no preemption will be performed")
    elif decision.error is None:
        log.v(5, "Status after running PostFilter plugins for pod", pod=pod, status=decision.message)


def bind_started(queued: QueuedPodInfo, node_name: str) -> None:
    log.v(3, "Attempting to bind pod to node", pod=ref(queued.pod), node=node_name)


def slow_cycle(decision: Decision, seconds: float) -> None:
    log.info(
        "Trace: Scheduling",
        pod=ref(decision.pod),
        totalTime=f"{seconds * 1000:.0f}ms",
        evaluatedNodes=decision.evaluated,
        feasibleNodes=decision.feasible,
    )


class ExpensiveAttempts:
    """Logs expensive attempts, at most one per namespace and minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._logged_at: dict[str, float] = {}

    def report(self, queued: QueuedPodInfo, seconds: float, waits: float) -> None:
        namespace, now = queued.pod.namespace, self._clock()
        recent = {name: at for name, at in self._logged_at.items() if now < at + EXPENSIVE_INTERVAL_SECONDS}
        self._logged_at = recent
        if namespace not in recent:
            recent[namespace] = now
            log.info(
                "Scheduling attempt is expensive",
                pod=ref(queued.pod),
                profile=queued.pod.template.spec.scheduler_name,
                seconds=round(seconds, 3),
                namespaceWaitsSeconds=round(waits, 3),
            )


def _scores(decision: Decision) -> None:
    record = decision.record()
    pod = ref(decision.pod)
    for node, scores in record.scores.items():
        for plugin, score in scores.items():
            log.v(10, "Plugin scored node for pod", pod=pod, plugin=plugin, node=node, score=score.weighted)
    for node, total in record.totals.items():
        log.v(10, "Calculated node's final score for pod", pod=pod, node=node, score=total)


def bound(queued: QueuedPodInfo, node_name: str, evaluated: int, feasible: int) -> None:
    pod = ref(queued.pod)
    message = "Successfully bound pod to node"
    log.v(2, message, pod=pod, node=node_name, evaluatedNodes=evaluated, feasibleNodes=feasible)
    if queued.was_flushed:
        log.v(
            4,
            "Pod scheduled after flush from unschedulablePods",
            pod=pod,
            unschedulablePlugins=sorted(queued.unschedulable_plugins),
            pendingPlugins=sorted(queued.pending_plugins),
        )


def attempt_failed(queued: QueuedPodInfo, status: Status) -> None:
    pod = ref(queued.pod)
    if status.message == NO_NODES:
        log.v(2, "Unable to schedule pod; no nodes are registered to the cluster; waiting", pod=pod)
    elif status.rejected:
        log.v(2, "Unable to schedule pod; no fit; waiting", pod=pod, err=status.message)
    else:
        log.error(status.message, "Error scheduling pod; retrying", pod=pod)


_GROUP_RESULTS = {
    "scheduled": "Successfully scheduled a pod group",
    "unschedulable": "Unable to schedule a pod group",
    "waiting_on_preemption": "Pod group is waiting for preemption",
}


def group_decided(decision: GroupDecision) -> None:
    group, text = logs.ObjectRef(*decision.group[:2]), _GROUP_RESULTS.get(decision.result, "")
    bound = sum(outcome.status is None for outcome in decision.outcomes)
    left = len(decision.outcomes) - bound
    if not text:
        log.error(decision.condition.message, "Error scheduling pod group", podGroup=group)
    elif bound:
        log.v(2, text, podGroup=group, scheduledPods=bound, unschedulablePods=left)
    else:
        log.v(2, text, podGroup=group, unschedulablePods=left)


def pod_queued(queued: QueuedPodInfo, queue: str, event: str) -> None:
    message = "Pod moved to an internal scheduling queue"
    if event != "ScheduleAttemptFailure":
        log.v(5, message, pod=ref(queued.pod), event=event, queue=_QUEUES[queue])
        return
    log.v(
        3,
        message,
        pod=ref(queued.pod),
        event=event,
        queue=_QUEUES[queue],
        unschedulablePlugins=sorted(queued.unschedulable_plugins | queued.pending_plugins),
    )


def preemption_started(preemptor: Pod, node_name: str, victims: int) -> None:
    log.v(2, "the target node for the preemption is determined", node=node_name, pod=ref(preemptor))
    message = "Start the preemption asynchronously"
    log.v(2, message, preemptor=ref(preemptor), node=node_name, numVictims=victims, numVictimsToDelete=victims)


def victim_evicted(preemptor: Pod, victim: Pod, node_name: str) -> None:
    message = "Preemptor Pod preempted victim Pod"
    log.v(2, message, preemptor=ref(preemptor), victim=ref(victim), node=node_name)


def preemption_ended(preemptor: Pod, node_name: str, result: str) -> None:
    log.v(2, "Async Preemption finished completely", preemptor=ref(preemptor), node=node_name, result=result)
