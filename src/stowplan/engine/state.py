"""State shared by the parts of the engine, and its records: pending pods and attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from stowplan import api
from stowplan.cache import Cluster
from stowplan.engine.attempt_history import AttemptHistory
from stowplan.engine.observer import Observer
from stowplan.engine.tasks import Task, Tasks
from stowplan.engine.timers import HeldClock, Timers
from stowplan.framework import Instruction, Pod, QueuedPodInfo
from stowplan.queue import SchedulingQueue
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Decision, Profile
from stowplan.runtime.points.waiting_pods import Defer, WaitingPods, at_once

SUB_QUEUES = ("active", "backoff", "error_backoff", "throttled", "unschedulable", "gated")
"""Views of the scheduling queue by name; together they hold every queued pod once."""


REFUSED = ("False", "Unschedulable")
"""Status and reason of the PodScheduled condition of a pod that plugins rejected."""


class PendingPod:
    """An unassigned pod as the API server last reported it; of its status only the parts compared before a write."""

    __slots__ = ("conditions", "pod", "requested", "resource_version")

    def __init__(self, pod: Pod, source: api.Pod) -> None:
        self.pod = pod
        self.requested: api.Condition | None = None
        """The condition PodScheduled that was requested since the API server's last report."""
        self.conditions = source.status.conditions
        self.resource_version = source.metadata.resource_version

    @property
    def refusal(self) -> str:
        """The message of the condition that the pod is unschedulable; empty without this condition."""
        found = self.condition("PodScheduled")
        return found.message if found is not None and (found.status, found.reason) == REFUSED else ""

    def condition(self, kind: str) -> api.Condition | None:
        return next((condition for condition in self.conditions if condition.type == kind), None)


class Attempt:
    """An assumed pod on its way to being bound."""

    __slots__ = ("cycle", "extenders", "node_name", "pod", "points", "queued", "state", "task")

    def __init__(self, queued: QueuedPodInfo, decision: Decision, cycle: int) -> None:
        self.queued = queued
        self.pod: Pod = queued.pod
        self.node_name = decision.node_name
        self.state = decision.state
        self.points = decision.profile.binding_points(queued.pod.template)
        self.extenders = decision.profile.extenders
        self.cycle = cycle
        """Number of the scheduling cycle that chose the node."""
        self.task: Task | None = None
        """The binding cycle; None where a single Bind instruction is enough."""

    def removed_pod(self) -> Pod:
        """The pod as it was on the node, as the old object of a delete event."""
        return assigned_copy(self.pod, self.node_name)


def assigned_copy(pod: Pod, node_name: str) -> Pod:
    """A copy of the pod assigned to the node, for queueing hints that compare what its removal frees."""
    copy = Pod(pod.template, pod.name, pod.uid, pod.labels)
    copy.node_name = node_name
    if hasattr(pod, "details"):
        copy.details = pod.details
    return copy


class EngineState:
    """The engine's state. The engine's parts keep only state of their own that no other part reads."""

    profiles: Mapping[str, Profile]
    """By schedulerName. Set once, after construction: plugins get handles that refer to this state."""
    queue: SchedulingQueue
    """Set once, with the profiles."""

    def __init__(
        self,
        cluster: Cluster,
        nominator: Nominator,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        observer: Observer,
        keep_assigned_objects: bool,
    ) -> None:
        self.cluster = cluster
        self.nominator = nominator
        self.clock = clock
        self.queue_clock = HeldClock(clock)
        """The time of requeued pods; pods that are refused in one slice of work are refused at the same time."""
        self.wall_clock = wall_clock
        """Time of day for timestamps in objects and events; `clock` may be monotonic."""
        self.observer = observer
        self.keep_assigned_objects = keep_assigned_objects
        """Whether raw objects, if kept at all, are also kept of assigned pods."""
        self.pending: dict[str, PendingPod] = {}
        """Unassigned pods of our profiles by uid: queued, in flight, or assumed and not yet reported as bound."""
        self.attempts: dict[str, Attempt] = {}
        """Assumed pods by uid whose binding is under way; an attempt ends with the pod bound or forgotten."""
        self.history = AttemptHistory()
        self.cycle = 0
        """Number of the current or last scheduling cycle."""
        self.deciding = True
        """Whether plugins run, during which the cluster must not change. True until the engine is complete."""
        self.marshal: Defer = at_once
        """Runs an action on the engine's thread."""
        self.deferred: list[Callable[[], None]] = []
        """Actions that plugins requested during a decision."""
        self.waiting_pods = WaitingPods(self.defer)
        self.outbox: list[Instruction] = []
        self.timers = Timers(clock)
        self.tasks = Tasks(self.timers, self.outbox.append)

    def defer(self, action: Callable[[], None]) -> None:
        """Run an action of a plugin: at once, or after the decision under way is applied."""
        self.marshal(partial(self._run_or_defer, action))

    def _run_or_defer(self, action: Callable[[], None]) -> None:
        if self.deciding:
            self.deferred.append(action)
        else:
            action()

    def run_deferred(self) -> None:
        """Run the actions that were requested during the decision."""
        while self.deferred:
            self.deferred.pop(0)()

    def timestamp(self) -> str:
        """The present time in RFC 3339, as metav1.Time is written."""
        return datetime.fromtimestamp(int(self.wall_clock()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
