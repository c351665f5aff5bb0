"""Keeps what is to be told about a run, while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stowplan import api
from stowplan.engine import Observer
from stowplan.framework import Pod, QueuedPodInfo, Status
from stowplan.runtime import Decision
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.report.pending_reasons import PendingReasons

Examine = Callable[[Decision, int], Any]
"""Looks closer at a decision, made in that attempt, before it takes effect."""


class Story:
    """How one pod fared: its last attempt."""

    __slots__ = ("attempts", "detail", "diagnosis", "evaluated", "feasible", "message", "node_name")

    def __init__(self) -> None:
        self.attempts = 0
        self.node_name = ""
        self.message = ""
        self.diagnosis: PendingReasons | None = None
        self.feasible = 0
        self.evaluated = 0
        self.detail: Any = None
        """What was found on closer examination, if any was asked for."""


class RecordedEviction(NamedTuple):
    """A pod that had to go for another one."""

    preemptor: Pod
    victim: Pod
    node_name: str
    preemptor_workload: str
    victim_workload: str


class RunRecorder(Observer):
    """Remembers each pod's last attempt, and all evictions."""

    def __init__(self, examine: Examine | None = None) -> None:
        self.stories: dict[str, Story] = {}
        """By the pod's uid."""
        self.evictions: list[RecordedEviction] = []
        self.decisions = 0
        self.bindings = 0
        self._examine = examine
        self._api_server: ApiServer | None = None
        self._workloads: dict[str, str] = {}

    def attach(self, api_server: ApiServer) -> None:
        """Look here for who owns whom."""
        self._api_server = api_server

    def decided(self, unit: QueuedPodInfo, decision: Decision) -> None:
        self.decisions += 1
        story = self.stories.get(unit.pod.uid)
        if story is None:
            story = self.stories[unit.pod.uid] = Story()
        story.attempts = unit.attempts
        story.node_name = decision.node_name
        story.message = decision.message
        story.feasible, story.evaluated = decision.feasible, decision.evaluated
        story.diagnosis = None
        if not decision.node_name:
            if decision.diagnosis is not None:
                story.diagnosis = PendingReasons.of(decision.diagnosis)
            if decision.preemption is not None and decision.preemption.chosen is not None:
                for pod in (unit.pod, *decision.preemption.victims):
                    self._note_workload(pod)
        if self._examine is not None:
            story.detail = self._examine(decision, unit.attempts)

    def bound(self, unit: QueuedPodInfo, node_name: str) -> None:
        self.bindings += 1

    def attempt_failed(self, unit: QueuedPodInfo, status: Status) -> None:
        story = self.stories[unit.pod.uid]
        if story.node_name:
            # The node was found, but did not get the pod.
            story.node_name, story.message = "", status.message

    def victim_evicted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        workloads = self._workloads
        self.evictions.append(
            RecordedEviction(
                preemptor, victim, node_name, workloads.get(preemptor.uid, ""), workloads.get(victim.uid, "")
            )
        )

    def _note_workload(self, pod: Pod) -> None:
        """Once a victim is gone, nobody can tell whose it was."""
        if self._api_server is not None and pod.uid not in self._workloads:
            found = self._api_server.get(api.Pod, pod.name, pod.namespace)
            if found is not None:
                self._workloads[pod.uid] = workload_of(self._api_server, found)


def workload_of(api_server: ApiServer, pod: api.Pod) -> str:
    """The workload at the top, as kubectl would name it (`Deployment/web`); empty for a pod on its own."""
    owner, found = controller_of(pod), ""
    while owner is not None:
        found = f"{owner.kind}/{owner.name}"
        kind = api.KINDS.get(owner.kind)
        item: Any = None if kind is None else api_server.get(kind.struct, owner.name, pod.metadata.namespace)
        owner = None if item is None else controller_of(item)
    return found
