"""A run of the scheduler on a cluster: placements, pending pods, evictions, attempts, and answers about its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from stowplan import api
from stowplan.extender.client import build_extenders
from stowplan.framework import Explanation, QueuedPodInfo, Status
from stowplan.framework.decision_record import Record
from stowplan.framework.explanation import AsOf, PendingPods, PlacedExplanation, WhyNot
from stowplan.framework.plugin import need_objects
from stowplan.insight.insight import Insight
from stowplan.insight.slices import Slices
from stowplan.insight.slices import run as run_slices
from stowplan.insight.workloads import workload_reference
from stowplan.library import html
from stowplan.library.answers import shown
from stowplan.library.changes import UnknownObjectError
from stowplan.library.questions import as_data
from stowplan.library.records import Records
from stowplan.library.settings import Settings
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Decision
from stowplan.simulator.custom_workload import CustomWorkload
from stowplan.simulator.group_gates import with_group_gates
from stowplan.simulator.input import SIMULATED, Input, Origin
from stowplan.simulator.load import populate
from stowplan.simulator.not_created import not_created_pods
from stowplan.simulator.report import RunRecorder, SimulationReport, report_of
from stowplan.simulator.report.changed_since_snapshot import states_before
from stowplan.simulator.report.report import NodeReport, PendingReport, PodReport, PreemptionReport, RunSummary
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.source_manifests import SourceManifests
from stowplan.simulator.what_if.answer import WhatIfQuestion, what_if
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.what_if.run import ClusterRun, Setup

if TYPE_CHECKING:
    from stowplan.library.cluster import Cluster
    from stowplan.library.run_diff import RunDiff

T = TypeVar("T", Explanation, PlacedExplanation, WhyNot, PendingPods)

_RESULT = Origin("run")
_MAX_SHOWN_GROUPS = 5


class RecordedAttempt(Record, frozen=True, kw_only=True):
    """One scheduling attempt."""

    seconds: float
    """Simulated time since the start of the run."""
    pod: str
    attempt: int
    node: str = ""
    """The chosen node; empty if none fits."""
    message: str = ""
    nominated: str = ""
    """The node on which pods are evicted for the pod."""


class _AttemptRecorder(RunRecorder):
    """Records every attempt, besides the last one of each pod."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[RecordedAttempt] = []
        self.seconds: Callable[[], float] = lambda: 0.0

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        super().decided(queued, decision)
        self.attempts.append(
            RecordedAttempt(
                seconds=round(self.seconds(), 3),
                pod=queued.pod.key,
                attempt=queued.attempts,
                node=decision.node_name,
                message=decision.message,
                nominated="" if decision.preemption is None else decision.preemption.node_name,
            )
        )

    def attempt_failed(self, queued: QueuedPodInfo, status: Status) -> None:
        super().attempt_failed(queued, status)
        for number in range(len(self.attempts) - 1, -1, -1):
            last = self.attempts[number]
            if last.pod == queued.pod.key:
                if last.node:
                    self.attempts[number] = msgspec.structs.replace(last, message=status.message)
                return


class Run:
    """The result of `Cluster.simulate`. Its parts are sequences of records, which convert to data frames."""

    def __init__(
        self,
        simulation: Simulation,
        report: SimulationReport,
        recorder: _AttemptRecorder,
        setup: Setup,
        namespace: str,
        as_of: AsOf,
        result: Callable[[], Cluster],
    ) -> None:
        self.report = report
        """The record that `stowplan simulate -o json` prints."""
        self.attempts = Records(recorder.attempts)
        """Every attempt, in the order in which they were made."""
        self._recorder = recorder
        self._setup = setup
        self._simulation = simulation
        self._namespace = namespace
        self._as_of = as_of
        self._result = result
        lacking = partial(not_created_pods, simulation)
        self._insight = Insight(simulation.engine, simulation.clock, not_created=lacking)

    @property
    def pods(self) -> Records[PodReport]:
        return Records(self.report.pods)

    @property
    def nodes(self) -> Records[NodeReport]:
        return Records(self.report.nodes)

    @property
    def pending(self) -> Records[PendingReport]:
        """Pending pods, grouped by workload and message."""
        return Records(self.report.pending)

    @property
    def preemptions(self) -> Records[PreemptionReport]:
        return Records(self.report.preemptions)

    @property
    def summary(self) -> RunSummary:
        return self.report.summary

    @property
    def waiting(self) -> tuple[str, ...]:
        """Pods that wait at Permit."""
        return tuple(sorted(entry.pod.key for entry in self._simulation.engine.waiting_pods))

    @property
    def queue(self) -> dict[str, tuple[str, ...]]:
        """Pods by sub-queue: active, backoff, unschedulable, gated."""
        engine = self._simulation.engine
        return {name: tuple(queued.pod.key for queued in engine.queued_pods(name)) for name in engine.queue_counts()}

    @property
    def cluster(self) -> Cluster:
        """The cluster at the end of the run."""
        return self._result()

    def pod(self, name: str) -> PodReport:
        """One pod, by `namespace/name` or by its name."""
        key = name if "/" in name else f"{self._namespace}/{name}"
        for pod in self.report.pods:
            if pod.pod == key:
                return pod
        raise UnknownObjectError(f"pod {key} is not known")

    def explain(self, pod: str, *, top: int = 5) -> Explanation | PlacedExplanation | PendingPods:
        """Why a pod is pending, or why it is on its node, at the end of the run. For a workload (`Deployment/web`): its
        pending pods, grouped by the sentence that explains them."""
        insight = self._insight
        workload = workload_reference(pod, self._namespace)
        if workload is not None:
            return self._shown(insight.workload(workload, top=top))
        found = insight.find(pod, self._namespace)
        if found.placed:
            return self._shown(insight.explain_placed(found.pod, top=top))
        return self._shown(insight.explain(found.pod, top=top))

    def explain_pending(self, namespace: str = "") -> PendingPods:
        """All pending pods, or those of a namespace, grouped by sentence."""
        return self._shown(self._insight.pending(namespace))

    def _shown(self, slices: Slices[T]) -> T:
        answer = run_slices(slices)
        return shown(msgspec.structs.replace(answer, as_of=self._as_of))

    def why_not(self, pod: str, node: str) -> WhyNot:
        """What keeps a pod off a node at the end of the run."""
        insight = self._insight
        return self._shown(insight.why_not(insight.find(pod, self._namespace).pod, insight.node(node)))

    def what_if(self, question: WhatIfQuestion) -> WhatIfAnswer:
        """The answer to a question of `stowplan what-if`. It is computed on a copy of the run."""
        copy = ClusterRun(self._simulation, self._recorder, self._setup).copy()
        return shown(as_data(what_if(copy, question)))

    def diff(self, other: Run) -> RunDiff:
        """What differs in another run: pods on other nodes, pods that wait now, the use of nodes."""
        from stowplan.library.run_diff import RunDiff

        return RunDiff(self, other)

    def __repr__(self) -> str:
        summary = self.summary
        return f"<Run: {summary.placed} placed, {summary.running} running, {summary.pending} pending>"

    def _repr_html_(self) -> str:
        summary = self.summary
        counts = {
            "placed": summary.placed,
            "running before": summary.running,
            "pending": summary.pending,
            "evicted": summary.evicted,
            "nodes": summary.nodes,
        }
        parts = [html.table(("run", "pods"), counts.items())]
        parts += [
            html.paragraph(f"{len(group.pods)} pending ({group.workload or group.pods[0]}): {group.message}")
            for group in self.report.pending[:_MAX_SHOWN_GROUPS]
        ]
        return "".join(parts)


def start_run(
    given: Input,
    deleted: tuple[Any, ...],
    settings: Settings,
    *,
    start: float,
    namespace: str,
    as_of: AsOf,
    schedule: bool,
    as_cluster: Callable[[Input, float], Cluster],
) -> Run:
    """Populate a simulation and, with `schedule`, run it. Extenders are called over HTTP, except for bind."""
    recorder = _AttemptRecorder()
    with asyncio.Runner() as runner:
        extenders = build_extenders(settings.config.extenders)
        keep = bool(extenders) or need_objects(settings.plugins.values())
        simulation = Simulation(
            with_group_gates(settings.config, (item for item, _ in given.objects)),
            {**REGISTRY, **settings.plugins},
            seed=settings.seed,
            observer=recorder,
            keep_objects=keep,
            start=start,
            extenders=extenders,
            call_extender=lambda request: runner.run(request.extender.call(request)),
        )
        if keep:
            simulation.whole = SourceManifests(simulation.api_server, given.documents).whole
        recorder.attach(simulation.api_server)
        recorder.seconds = lambda: simulation.clock.now - start
        try:
            populate(
                simulation.api_server, simulation.controllers, given.objects, given.preexisting, given.assumed_owners
            )
            simulation.settle()
            for item in deleted:
                simulation.api_server.delete(item)
            simulation.settle()
            if schedule:
                simulation.run()
        finally:
            for extender in extenders:
                runner.run(extender.close())
    before = states_before((item for item, _ in given.objects), given.preexisting)
    report = report_of(simulation, recorder, given.unknown, before, given.assumptions)
    return Run(
        simulation,
        report,
        recorder,
        Setup(settings.config, {**REGISTRY, **settings.plugins}),
        namespace,
        as_of,
        lambda: as_cluster(_result(simulation, given), simulation.clock.now),
    )


def _result(simulation: Simulation, given: Input) -> Input:
    """The objects at the end of a run, as those of a cluster that is taken as it is."""
    structs: list[type[Any]] = [*(kind.struct for kind in SIMULATED.values()), CustomWorkload]
    items = [item for struct in structs for item in simulation.api_server.all(struct)]
    items.sort(key=lambda item: (True, item.metadata.creation_timestamp) if isinstance(item, api.Pod) else (False, ""))
    return given._replace(
        objects=[(item, _RESULT) for item in items],
        preexisting=frozenset(item.metadata.uid for item in items),
    )
