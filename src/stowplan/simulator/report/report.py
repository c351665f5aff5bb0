"""The result of a simulation as data. These structs are the JSON of `simulate -o json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from stowplan import api
from stowplan.cache.columns import Column
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import scheduling_requests
from stowplan.cache.volumes import ZONE
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.input import Assumption
from stowplan.simulator.report.detailed_decisions import TopScores
from stowplan.simulator.report.pod_groups import PodGroupReport, pod_groups_of
from stowplan.simulator.report.recorder import LastAttempt, RecordedEviction, RunRecorder, workload_of
from stowplan.simulator.report.resources import BASIC_RESOURCES, extended_resources, unit_of
from stowplan.simulator.report.use import GroupUse, ResourceUse, groups_of, largest_requests, use_of
from stowplan.simulator.simulation import Simulation

PLACED, RUNNING, PENDING, GATED = "Placed", "Running", "Pending", "Gated"


class ReportPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of the parts of a report; default values are omitted in JSON."""


class PodReport(ReportPart, frozen=True, kw_only=True):
    """A pod at the end of the run."""

    pod: str
    """Namespace and name."""
    workload: str = ""
    status: str
    """Placed, Running (bound before the run), Pending or Gated."""
    before: str = ""
    """Running or Pending, for a pod of the snapshot."""
    node: str = ""
    zone: str = ""
    """The zone of the node."""
    requests: dict[str, int] = {}
    """By resource, in the report's units."""
    devices: tuple[str, ...] = ()
    """Devices allocated to its claims, as "pool/device"."""
    attempts: int = 0
    message: str = ""
    feasible_nodes: int = 0
    evaluated_nodes: int = 0
    score: int | None = None
    runner_up: str = ""
    runner_up_score: int | None = None
    decision: msgspec.Raw | bytes | None = None
    """The record of the last attempt; bytes are compressed."""


class ReasonReport(ReportPart, frozen=True, kw_only=True):
    """A reason and the nodes rejected for it."""

    reason: str
    nodes: tuple[str, ...]


class PendingReport(ReportPart, frozen=True, kw_only=True):
    """Pending pods of one workload with the same message."""

    workload: str = ""
    pods: tuple[str, ...]
    message: str
    reasons: tuple[ReasonReport, ...] = ()


class PreemptionReport(ReportPart, frozen=True, kw_only=True):
    """A victim and its preemptor."""

    preemptor: str
    preemptor_priority: int
    preemptor_workload: str = ""
    victim: str
    victim_priority: int
    victim_workload: str = ""
    node: str
    outcome: str
    """Whether a workload recreated the victim, and whether that workload has pending pods."""


class NodeReport(ReportPart, frozen=True, kw_only=True):
    """A node at the end of the run; amounts are in the report's units."""

    node: str
    zone: str = ""
    """The label topology.kubernetes.io/zone."""
    pods: int
    requested: dict[str, int]
    allocatable: dict[str, int]


class RunSummary(ReportPart, frozen=True, kw_only=True, omit_defaults=False):
    """Totals; pending pods include gated ones. Amounts are in the report's units."""

    placed: int
    running: int
    pending: int
    pending_before: int
    """Pending pods that were pending in the snapshot."""
    gated: int
    evicted: int
    attempts: int
    nodes: int
    nodes_used: int
    requested: dict[str, int]
    """CPU, memory, and the extended resources that pods request."""
    allocatable: dict[str, int]


class AssumptionReport(ReportPart, frozen=True, kw_only=True):
    """What the run assumes about objects that the input lacks."""

    kind: str
    objects: tuple[str, ...] = ()
    """Namespaces and names."""
    assumption: str


class NotCreatedReport(ReportPart, frozen=True, kw_only=True):
    """Pods that the API server refuses to create."""

    workload: str = ""
    """Namespace, kind and name of the workload."""
    pods: int
    message: str
    """The API server's message for the first of them."""


class SimulationReport(ReportPart, frozen=True, kw_only=True, omit_defaults=False):
    """The whole report. Pods and nodes are sorted by name."""

    pods: tuple[PodReport, ...]
    pending: tuple[PendingReport, ...]
    preemptions: tuple[PreemptionReport, ...]
    nodes: tuple[NodeReport, ...]
    summary: RunSummary
    unknown_kinds: dict[str, int]
    units: dict[str, str]
    """The unit of each resource's amounts: millicores, bytes or count. All amounts are integers."""
    assumptions: tuple[AssumptionReport, ...] = ()
    not_created: tuple[NotCreatedReport, ...] = ()
    use: tuple[ResourceUse, ...] = ()
    """Each resource that pods request, with fragmentation and the largest hole."""
    groups: tuple[GroupUse, ...] = ()
    """The same by zone, or by the label of choice."""
    pod_groups: tuple[PodGroupReport, ...] = ()


def report_of(
    simulation: Simulation,
    recorder: RunRecorder,
    unknown_kinds: Mapping[str, int],
    before: Mapping[str, str] | None = None,
    assumptions: Iterable[Assumption] = (),
    by: str = "",
) -> SimulationReport:
    """The report of a run; `before` are the states of the snapshot's pods, by uid, and `by` is the label by which use
    is grouped, by default the zone."""
    nodes = simulation.engine.cluster.nodes
    pods = _Pods(simulation, recorder, before or {})
    reports = tuple(pods.reports())
    largest = largest_requests((pod.requests for pod in reports), BASIC_RESOURCES)
    return SimulationReport(
        pods=reports,
        pending=tuple(_pending(reports, pods.last_attempts, nodes)),
        preemptions=tuple(_preemptions(simulation, recorder, reports)),
        nodes=tuple(_nodes(nodes)),
        summary=_summary(reports, recorder, nodes),
        unknown_kinds={kind: unknown_kinds[kind] for kind in sorted(unknown_kinds)},
        units={name: unit_of(name) for name in sorted(_resources(reports, nodes))},
        assumptions=tuple(AssumptionReport(**each._asdict()) for each in assumptions),
        not_created=tuple(_not_created(simulation)),
        use=use_of(nodes, largest),
        groups=tuple(groups_of(nodes, largest, by)),
        pod_groups=tuple(pod_groups_of(simulation.api_server, simulation.engine.cluster)),
    )


def _resources(pods: Iterable[PodReport], nodes: NodeTable) -> set[str]:
    """All resources with an amount in the report."""
    return {*BASIC_RESOURCES, "pods", *nodes.allocatable, *nodes.requested}.union(*(pod.requests for pod in pods))


class _Pods:
    """Builds the reports of all pods."""

    def __init__(self, simulation: Simulation, recorder: RunRecorder, before: Mapping[str, str]) -> None:
        self._before = before
        self._api_server = simulation.api_server
        self._profiles = simulation.engine.profiles
        self._gated = {queued.pod.uid: queued.pod for queued in simulation.engine.queued_pods("gated")}
        self._recorder = recorder
        self._waiting = simulation.engine.waiting_pods
        self._nodes = simulation.engine.cluster.nodes
        self._devices = devices_of(self._api_server)
        self._workloads: dict[str, str] = {}
        self.last_attempts: dict[str, LastAttempt] = {}
        """By namespace and name."""

    def reports(self) -> Iterator[PodReport]:
        for pod in sorted(self._api_server.all(api.Pod), key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
            last = self._recorder.last_attempts.get(pod.metadata.uid)
            key = f"{pod.metadata.namespace}/{pod.metadata.name}"
            if last is not None:
                self.last_attempts[key] = last
            yield PodReport(
                pod=key,
                workload=self._workload(pod),
                before=self._before.get(pod.metadata.uid, ""),
                requests=scheduling_requests(pod.spec)[0],
                **self._state(pod, last),
                **_attempt(last),
            )

    def _state(self, pod: api.Pod, last: LastAttempt | None) -> dict[str, Any]:
        if pod.spec.node_name:
            devices = self._devices.get(pod.metadata.uid, ())
            node = self._nodes.get(pod.spec.node_name)
            state = {"status": RUNNING if last is None else PLACED, "node": pod.spec.node_name, "devices": devices}
            return {**state, "zone": "" if node is None else node.labels.get(ZONE, "")}
        name = pod.spec.scheduler_name
        # A pod that was tried is pending, also while PreEnqueue delays its next attempt.
        if pod.metadata.uid in self._gated and last is None:
            status = self._profiles[name].pre_enqueue(self._gated[pod.metadata.uid])
            return {"status": GATED, "message": "" if status is None else status.message}
        if name not in self._profiles:
            known = ", ".join(self._profiles)
            return {"status": PENDING, "message": f'no profile has schedulerName "{name}"; profiles: {known}'}
        return {"status": PENDING, "message": "" if last is None else last.message or self._unbound(pod, last)}

    def _unbound(self, pod: api.Pod, last: LastAttempt) -> str:
        """Message of a pod that has a node and is not bound."""
        waiting = self._waiting.get(pod.metadata.uid)
        if waiting is None or not last.node_name:
            return f"assumed on node {last.node_name}, not bound yet" if last.node_name else ""
        reasons = {plugin: waiting.reasons.get(plugin) for plugin in waiting.pending_plugins}
        plugins = ", ".join(f"{plugin} ({reason})" if reason else plugin for plugin, reason in reasons.items())
        return f"waits at Permit on node {last.node_name} until allowed by {plugins}"

    def _workload(self, pod: api.Pod) -> str:
        """Looked up once for each owner."""
        owners = pod.metadata.owner_references
        key = owners[0].uid if len(owners) == 1 else ""
        if not key:
            return workload_of(self._api_server, pod)
        if key not in self._workloads:
            self._workloads[key] = workload_of(self._api_server, pod)
        return self._workloads[key]


def devices_of(api_server: ApiServer) -> dict[str, tuple[str, ...]]:
    """By the pod's uid, "pool/device" of all claims reserved for it, in the order of the claims."""
    found: dict[str, tuple[str, ...]] = {}
    for claim in api_server.all(api.ResourceClaim):
        allocation = claim.status.allocation
        if allocation is None:
            continue
        given = tuple(f"{result.pool}/{result.device}" for result in allocation.devices.results)
        for consumer in claim.status.reserved_for:
            found[consumer.uid] = found.get(consumer.uid, ()) + given
    return found


def _attempt(last: LastAttempt | None) -> dict[str, Any]:
    if last is None:
        return {}
    fields: dict[str, Any] = {
        "attempts": last.attempts,
        "feasible_nodes": last.feasible,
        "evaluated_nodes": last.evaluated,
    }
    if isinstance(last.detail, TopScores):
        fields |= last.detail._asdict()
    else:
        fields["decision"] = last.detail
    return fields


def _pending(
    pods: Iterable[PodReport], last_attempts: Mapping[str, LastAttempt], nodes: NodeTable
) -> Iterator[PendingReport]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for pod in pods:
        if not pod.node:
            namespace = pod.pod.partition("/")[0]
            groups.setdefault((namespace, pod.workload, pod.message), []).append(pod.pod)
    for (_, workload, message), members in groups.items():
        last = last_attempts.get(members[0])
        found = {} if last is None or last.diagnosis is None else last.diagnosis.nodes_by_reason(nodes)
        reasons = tuple(ReasonReport(reason=reason, nodes=tuple(names)) for reason, names in found.items())
        yield PendingReport(workload=workload, pods=tuple(members), message=message, reasons=reasons)


def _preemptions(
    simulation: Simulation, recorder: RunRecorder, pods: Iterable[PodReport]
) -> Iterator[PreemptionReport]:
    waiting = Counter((pod.pod.partition("/")[0], pod.workload) for pod in pods if not pod.node)
    for eviction in recorder.evictions:
        preemptor, victim, workload = eviction.preemptor, eviction.victim, eviction.victim_workload
        yield PreemptionReport(
            preemptor=preemptor.key,
            preemptor_priority=preemptor.priority,
            preemptor_workload=eviction.preemptor_workload,
            victim=victim.key,
            victim_priority=victim.priority,
            victim_workload=workload,
            node=eviction.node_name,
            outcome=_outcome(eviction, waiting[victim.namespace, workload]),
        )


def _outcome(eviction: RecordedEviction, waiting: int) -> str:
    workload = eviction.victim_workload
    if not eviction.recreated:
        return f"not recreated: {workload} is not simulated" if workload else "not recreated: it has no controller"
    return f"recreated by {workload}, " + (f"{waiting} of its pods pending" if waiting else "all of its pods running")


def _not_created(simulation: Simulation) -> Iterator[NotCreatedReport]:
    for pod, pods, message in simulation.controllers.not_created:
        workload = workload_of(simulation.api_server, pod)
        name = f"{pod.metadata.namespace}/{workload}" if workload else ""
        yield NotCreatedReport(workload=name, pods=pods, message=message)


def _nodes(nodes: NodeTable) -> Iterator[NodeReport]:
    for info in sorted(nodes, key=lambda info: info.name):
        requested = nodes.requested_of(info.slot)
        yield NodeReport(
            node=info.name,
            zone=info.labels.get(ZONE, ""),
            pods=requested["pods"],
            requested=dict(sorted(requested.items())),
            allocatable=dict(sorted(nodes.allocatable_of(info.slot).items())),
        )


def _summary(pods: Sequence[PodReport], recorder: RunRecorder, nodes: NodeTable) -> RunSummary:
    count = Counter(pod.status for pod in pods)
    resources = (*BASIC_RESOURCES, *extended_resources(pod.requests for pod in pods))
    return RunSummary(
        placed=count[PLACED],
        running=count[RUNNING],
        pending=count[PENDING] + count[GATED],
        pending_before=sum(pod.before == PENDING and not pod.node for pod in pods),
        gated=count[GATED],
        evicted=len(recorder.evictions),
        attempts=recorder.decisions,
        nodes=len(nodes),
        nodes_used=sum(bool(nodes.pod_count.values[info.slot]) for info in nodes),
        requested={name: _total(nodes, nodes.requested.get(name)) for name in resources},
        allocatable={name: _total(nodes, nodes.allocatable.get(name)) for name in resources},
    )


def _total(nodes: NodeTable, column: Column | None) -> int:
    """The sum over all nodes; a resource that no node has may be without a column."""
    return 0 if column is None else sum(column.values[info.slot] for info in nodes)
