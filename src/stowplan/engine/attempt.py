"""A pod on its way to a node: assumed there, and not yet bound."""

from __future__ import annotations

from stowplan.engine.tasks import Task
from stowplan.framework import Pod
from stowplan.queue import QueuedPod
from stowplan.runtime import Decision


class Attempt:
    """Where a pod is to go, who has to do with it, and what those told each other."""

    __slots__ = ("cycle", "extenders", "late", "node_name", "pod", "state", "task", "unit")

    def __init__(self, unit: QueuedPod, decision: Decision, cycle: int) -> None:
        self.unit = unit
        self.pod: Pod = unit.pod
        self.node_name = decision.node_name
        self.state = decision.state
        self.late = decision.profile.late_points(unit.pod.template)
        self.extenders = decision.profile.extenders
        self.cycle = cycle
        """The number of the scheduling cycle that chose the node."""
        self.task: Task | None = None
        """The binding cycle; None where a single request does."""


def as_it_was(pod: Pod, node_name: str) -> Pod:
    """The pod as it was on the node, for those who judge what its going frees."""
    gone = Pod(pod.template, pod.name, pod.uid, pod.labels)
    gone.node_name = node_name
    return gone
