"""Notifications about the engine's steps, for logs, metrics and the record of a simulation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from stowplan import api
from stowplan.framework import Pod, PodGroupInfo, QueuedPodInfo, Status
from stowplan.queue import RefusedBatch
from stowplan.runtime import Decision
from stowplan.runtime.groups import GroupDecision


class Observer:
    """Called at each step, before its effects. Does nothing by itself; implementations must not change any state."""

    def event_received(self, event: str, about: Any = None) -> None:
        """A cluster event with that label is about to be handled. `about` is the Pod, or the object of another kind;
        None if the queue does not change."""

    def node_updated(self, node: api.Node) -> None:
        """A node was updated, whether or not that amounts to a cluster event."""

    def pre_enqueue_ran(self, pod: Pod, status: Status | None, seconds: float) -> None:
        """PreEnqueue ran. Sampled: the first 100 calls, then one in ten."""

    def pod_queued(self, queued: QueuedPodInfo, queue: str, event: str) -> None:
        """A pod entered a sub-queue (active, backoff or unschedulable) because of the event with that label."""

    def hint_returned(self, plugin: str, event: str, hint: str, seconds: float, times: int) -> None:
        """Queueing hints of a plugin returned Queue or QueueSkip, or failed (Error), for `times` pods; `seconds` is the
        average of the event's hints."""

    def attempt_started(self, queued: QueuedPodInfo) -> None:
        """A scheduling cycle starts."""

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """A scheduling cycle has decided."""

    def group_attempt_started(self, group: PodGroupInfo, queued: Sequence[QueuedPodInfo]) -> None:
        """A pod group cycle starts, with these members. `decided` follows for each of them, instead of
        `attempt_started`."""

    def group_decided(self, decision: GroupDecision) -> None:
        """A pod group cycle has decided."""

    def group_attempt_ended(self, group: PodGroupInfo, result: str, profile: str) -> None:
        """A pod group cycle is over: scheduled, unschedulable, waiting_on_preemption or error."""

    def attempt_expensive(self, queued: QueuedPodInfo, seconds: float, waits: float) -> None:
        """A scheduling cycle took 20 ms or more; pods of its namespace wait for that many seconds, possibly 0."""

    def point_ran(self, queued: QueuedPodInfo, point: str, status: Status | None, seconds: float) -> None:
        """An extension point after the decision has run (Reserve, Permit, PreBindPreFlight, PreBind, Bind, PostBind or
        Unreserve), with the status of all its plugins. After Reserve, not called for pods that need only a Bind."""

    def permit_wait_ended(self, queued: QueuedPodInfo, status: Status | None, seconds: float) -> None:
        """A pod no longer waits on Permit: it was allowed (status None) or rejected."""

    def bind_started(self, queued: QueuedPodInfo, node_name: str) -> None:
        """A Bind plugin is about to bind a pod."""

    def bound(self, queued: QueuedPodInfo, node_name: str) -> None:
        """A pod is bound."""

    def attempt_failed(self, queued: QueuedPodInfo, status: Status) -> None:
        """An attempt failed: the pod was rejected, or an error occurred."""

    def refused_together(self, batch: RefusedBatch, decision: Decision, status: Status) -> None:
        """Each of several equal pods was tried, one after the other, and refused for the same reasons as before. The
        decision is the one about the first pod. By default, the notifications of each attempt follow one by one."""
        for queued in batch.up_to_date():
            self.attempt_started(queued)
            self.decided(queued, decision.about(queued.pod))
            self.attempt_failed(queued, status)

    def pods_queued(self, queued: Collection[QueuedPodInfo], queue: str, event: str) -> None:
        """Equal pods entered a sub-queue together."""
        for each in queued:
            self.pod_queued(each, queue, event)

    def preemption_started(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        """The victims on a node are about to be evicted."""

    def victim_evicted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        """A victim was evicted."""

    def preemption_ended(self, preemptor: Pod, node_name: str, failed: bool) -> None:
        """All victims were evicted, or an eviction failed."""

    def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None:
        """A plugin adds to the metric of that name."""
