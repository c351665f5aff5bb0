"""Pods that wait to be scheduled by us, as the API server last told of them."""

from __future__ import annotations

from stowplan import api
from stowplan.framework import Pod


class PendingPod:
    """An unassigned pod; of its status only what the engine compares before it writes."""

    __slots__ = ("conditions", "pod", "resource_version")

    def __init__(self, pod: Pod, source: api.Pod) -> None:
        self.pod = pod
        self.conditions = source.status.conditions
        self.resource_version = source.metadata.resource_version

    def condition(self, kind: str) -> api.Condition | None:
        return next((condition for condition in self.conditions if condition.type == kind), None)
