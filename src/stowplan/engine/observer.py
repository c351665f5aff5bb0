"""Whoever wants to know what the engine does: logs, metrics, the record of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stowplan import api
from stowplan.framework import Pod, Status
from stowplan.queue import QueuedPod
from stowplan.runtime import Decision


class Observer:
    """Told of each step, before its effects; does nothing by itself. It must not change anything."""

    def heard(self, event: str, about: Any = None) -> None:
        """News of the cluster are about to be taken in, under the label of that event. `about` is the Pod, or the
        object of another kind; None where they change nothing in the queue."""

    def changed_node(self, node: api.Node) -> None:
        """A node is not as it was, whether or not that makes for an event."""

    def enqueued(self, pod: Pod, status: Status | None, seconds: float) -> None:
        """PreEnqueue was asked about a pod. Told of one time in ten, but for the first: they come in great numbers."""

    def entered(self, unit: QueuedPod, queue: str, event: str) -> None:
        """A unit came to stand in a queue (active, backoff or unschedulable) because of the event of that label."""

    def hinted(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """A plugin said whether an event is worth another attempt: Queue, QueueSkip, or Error where it failed."""

    def attempting(self, unit: QueuedPod) -> None:
        """A scheduling cycle begins."""

    def decided(self, unit: QueuedPod, decision: Decision) -> None:
        """A scheduling cycle came to a decision."""

    def passed(self, unit: QueuedPod, point: str, status: Status | None, seconds: float) -> None:
        """A point after the decision is over (Reserve, Permit, PreBindPreFlight, PreBind, Bind, PostBind, Unreserve),
        and what all its plugins came to. Not told of pods that go from Reserve straight to the binding."""

    def waited(self, unit: QueuedPod, status: Status | None, seconds: float) -> None:
        """A pod need not wait at Permit any longer: it was let through, or rejected."""

    def binding(self, unit: QueuedPod, node_name: str) -> None:
        """A pod is about to be bound by a plugin."""

    def bound(self, unit: QueuedPod, node_name: str) -> None:
        """A pod is bound."""

    def failed(self, unit: QueuedPod, status: Status) -> None:
        """An attempt failed: the pod was rejected, or an error occurred."""

    def preempting(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        """Pods on a node are about to be made to go."""

    def preempted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        """A pod was made to go."""

    def preemption_over(self, preemptor: Pod, node_name: str, failed: bool) -> None:
        """All victims were told to go, or it failed."""

    def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None:
        """A plugin has counted or timed something, of which metrics tell under that name."""
