"""Records a run for its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stowplan import api
from stowplan.engine import Observer
from stowplan.framework import Pod, QueuedPodInfo, Status
from stowplan.queue import RefusedBatch
from stowplan.runtime import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.report.pending_reasons import PendingReasons
from stowplan.simulator.timeline import RunTimeline
from stowplan.simulator.workloads import is_recreated

Examine = Callable[[Decision, int], Any]
"""Examines the decision of an attempt before it takes effect."""


class LastAttempt:
    """The last attempt of a pod."""

    __slots__ = ("attempts", "detail", "diagnosis", "evaluated", "feasible", "message", "node_name")

    def __init__(self) -> None:
        self.attempts = 0
        self.node_name = ""
        self.message = ""
        self.diagnosis: PendingReasons | None = None
        self.feasible = 0
        self.evaluated = 0
        self.detail: Any = None
        """The result of `examine`, if given."""


class RecordedEviction(NamedTuple):
    """An eviction by preemption."""

    preemptor: Pod
    victim: Pod
    node_name: str
    preemptor_workload: str
    victim_workload: str
    recreated: bool
    """Whether a controller recreates the victim."""


class RunRecorder(Observer):
    """Records the last attempt of each pod, and all evictions."""

    def __init__(self, examine: Examine | None = None, timeline: RunTimeline | None = None) -> None:
        self.last_attempts: dict[str, LastAttempt] = {}
        """By the pod's uid."""
        self.evictions: list[RecordedEviction] = []
        self.decisions = 0
        self.bindings = 0
        self.timeline = timeline
        """Records the run over time, if given."""
        self._examine = examine
        self._api_server: ApiServer | None = None
        self._latest: tuple[Diagnosis, PendingReasons | None] | None = None
        self._workloads: dict[str, str] = {}
        self._recreated: set[str] = set()

    def attach(self, api_server: ApiServer) -> None:
        """Set the API server in which to look up owners."""
        self._api_server = api_server

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self.decisions += 1
        last = self.last_attempts.get(queued.pod.uid)
        if last is None:
            last = self.last_attempts[queued.pod.uid] = LastAttempt()
        last.attempts = queued.attempts
        last.node_name = decision.node_name
        last.message = decision.message
        last.feasible, last.evaluated = decision.feasible, decision.evaluated
        last.diagnosis = None
        if not decision.node_name:
            if decision.diagnosis is not None:
                last.diagnosis = self._reasons_of(decision.diagnosis)
            if decision.preemption is not None and decision.preemption.chosen is not None:
                for pod in (queued.pod, *decision.preemption.victims):
                    self._note_workload(pod)
        if self._examine is not None:
            last.detail = self._examine(decision, queued.attempts)
        if self.timeline is not None:
            reason = decision.message if last.diagnosis is None else last.diagnosis.main_reason
            self.timeline.attempted(queued.pod, None if decision.node_name else reason)

    def refused_together(self, batch: RefusedBatch, decision: Decision, status: Status) -> None:
        if self._examine is not None or self.timeline is not None or decision.diagnosis is None:
            super().refused_together(batch, decision, status)
            return
        self.decisions += len(batch)
        reasons, message, evaluated = self._reasons_of(decision.diagnosis), decision.message, decision.evaluated
        last_attempts = self.last_attempts
        for uid in batch.members:
            last = last_attempts[uid]
            last.attempts += 1
            last.message, last.evaluated, last.diagnosis = message, evaluated, reasons

    def _reasons_of(self, diagnosis: Diagnosis) -> PendingReasons | None:
        """The reasons of a diagnosis, which equal pods share."""
        if self._latest is None or self._latest[0] is not diagnosis:
            self._latest = (diagnosis, PendingReasons.of(diagnosis))
        return self._latest[1]

    def bound(self, queued: QueuedPodInfo, node_name: str) -> None:
        self.bindings += 1

    def attempt_failed(self, queued: QueuedPodInfo, status: Status) -> None:
        last = self.last_attempts[queued.pod.uid]
        if last.node_name:
            # A node was chosen, but the pod was not bound.
            last.node_name, last.message = "", status.message

    def victim_evicted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        workloads = self._workloads
        if self.timeline is not None:
            self.timeline.evicted(victim)
        self.evictions.append(
            RecordedEviction(
                preemptor,
                victim,
                victim.node_name or node_name,  # Groups evict from the whole cluster.
                workloads.get(preemptor.uid, ""),
                workloads.get(victim.uid, ""),
                victim.uid in self._recreated,
            )
        )

    def _note_workload(self, pod: Pod) -> None:
        """Remember the workload of a pod, which cannot be looked up once the pod is deleted."""
        if self._api_server is not None and pod.uid not in self._workloads:
            found = self._api_server.get(api.Pod, pod.name, pod.namespace)
            if found is not None:
                self._workloads[pod.uid] = workload_of(self._api_server, found)
                if is_recreated(self._api_server, found):
                    self._recreated.add(pod.uid)


def workload_of(api_server: ApiServer, pod: api.Pod) -> str:
    """The topmost owner in kubectl's notation (`Deployment/web`); empty for a pod without an owner."""
    item: Any = pod
    owner, found = controller_of(pod), ""
    while owner is not None:
        found = f"{owner.kind}/{owner.name}"
        item = api_server.owner_of(item)
        owner = None if item is None else controller_of(item)
    return found
