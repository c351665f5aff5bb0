"""What came of a simulation, as plain data with a stable JSON form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from stowplan import api
from stowplan.cache.columns import Column
from stowplan.cache.nodes import NodeTable
from stowplan.simulator.report.detailed_decisions import TopScores
from stowplan.simulator.report.devices import devices_of
from stowplan.simulator.report.recorder import RunRecorder, Story, workload_of
from stowplan.simulator.simulation import Simulation

PLACED, RUNNING, PENDING, GATED = "Placed", "Running", "Pending", "Gated"


class Told(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of the parts of a report; what does not apply is left out of the JSON."""


class PodReport(Told, frozen=True, kw_only=True):
    """A pod at the end."""

    pod: str
    """Namespace and name."""
    workload: str = ""
    status: str
    """Placed, Running (it was before), Pending or Gated."""
    before: str = ""
    """Running or Pending, of a pod that a cluster had already."""
    node: str = ""
    devices: tuple[str, ...] = ()
    """What its claims got, as pool and device."""
    attempts: int = 0
    message: str = ""
    feasible_nodes: int = 0
    evaluated_nodes: int = 0
    score: int | None = None
    runner_up: str = ""
    runner_up_score: int | None = None
    decision: msgspec.Raw | bytes | None = None
    """The record of the last attempt; as bytes it is packed, since there may be many and they are long."""


class ReasonReport(Told, frozen=True, kw_only=True):
    """A reason and the nodes that it was given for."""

    reason: str
    nodes: tuple[str, ...]


class PendingReport(Told, frozen=True, kw_only=True):
    """Pods of one workload that wait for the same reason."""

    workload: str = ""
    pods: tuple[str, ...]
    message: str
    reasons: tuple[ReasonReport, ...] = ()


class PreemptionReport(Told, frozen=True, kw_only=True):
    """A pod that was evicted, and what for."""

    preemptor: str
    preemptor_priority: int
    preemptor_workload: str = ""
    victim: str
    victim_priority: int
    victim_workload: str = ""
    node: str
    outcome: str
    """What became of the victim: gone, or made anew by its workload, which may have placed all its pods since."""


class NodeReport(Told, frozen=True, kw_only=True):
    """A node at the end; amounts are Kubernetes quantities."""

    node: str
    pods: int
    requested: dict[str, str]
    allocatable: dict[str, str]


class Summary(Told, frozen=True, kw_only=True, omit_defaults=False):
    """The run in figures; pending pods include gated ones. CPU is in millicores, memory in bytes."""

    placed: int
    running: int
    pending: int
    pending_before: int
    """How many of those waited in a cluster already."""
    gated: int
    evicted: int
    attempts: int
    nodes: int
    nodes_used: int
    requested: dict[str, int]
    allocatable: dict[str, int]


class SimulationReport(Told, frozen=True, kw_only=True, omit_defaults=False):
    """All of it. Pods and nodes are in the order of their names."""

    pods: tuple[PodReport, ...]
    pending: tuple[PendingReport, ...]
    preemptions: tuple[PreemptionReport, ...]
    nodes: tuple[NodeReport, ...]
    summary: Summary
    unknown_kinds: dict[str, int]


def report_of(
    simulation: Simulation,
    recorder: RunRecorder,
    unknown_kinds: Mapping[str, int],
    before: Mapping[str, str] | None = None,
) -> SimulationReport:
    """What is to be told now; `before` is how pods fared, by uid, where the simulation started from a cluster."""
    nodes = simulation.engine.cluster.nodes
    pods = _Pods(simulation, recorder, before or {})
    told = tuple(pods.told())
    return SimulationReport(
        pods=told,
        pending=tuple(_pending(told, pods.stories, nodes)),
        preemptions=tuple(_preemptions(simulation, recorder, told)),
        nodes=tuple(_nodes(nodes)),
        summary=_summary(told, recorder, nodes),
        unknown_kinds={kind: unknown_kinds[kind] for kind in sorted(unknown_kinds)},
    )


class _Pods:
    """Goes through the pods of a world."""

    def __init__(self, simulation: Simulation, recorder: RunRecorder, before: Mapping[str, str]) -> None:
        self._before = before
        self._api_server = simulation.api_server
        self._profiles = simulation.engine.profiles
        self._gated = {queued.pod.uid: queued.pod for queued in simulation.engine.queued_pods("gated")}
        self._recorder = recorder
        self._devices = devices_of(self._api_server)
        self._workloads: dict[str, str] = {}
        self.stories: dict[str, Story] = {}
        """By namespace and name."""

    def told(self) -> Iterator[PodReport]:
        for pod in sorted(self._api_server.all(api.Pod), key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
            story = self._recorder.stories.get(pod.metadata.uid)
            key = f"{pod.metadata.namespace}/{pod.metadata.name}"
            if story is not None:
                self.stories[key] = story
            yield PodReport(
                pod=key,
                workload=self._workload(pod),
                before=self._before.get(pod.metadata.uid, ""),
                **self._state(pod, story),
                **_attempt(story),
            )

    def _state(self, pod: api.Pod, story: Story | None) -> dict[str, Any]:
        if pod.spec.node_name:
            devices = self._devices.get(pod.metadata.uid, ())
            return {"status": RUNNING if story is None else PLACED, "node": pod.spec.node_name, "devices": devices}
        name = pod.spec.scheduler_name
        if pod.metadata.uid in self._gated:
            status = self._profiles[name].pre_enqueue(self._gated[pod.metadata.uid])
            return {"status": GATED, "message": "" if status is None else status.message}
        if name not in self._profiles:
            known = ", ".join(self._profiles)
            return {"status": PENDING, "message": f'nobody schedules for schedulerName "{name}"; there is {known}'}
        return {"status": PENDING, "message": "" if story is None else story.message or _held(story)}

    def _workload(self, pod: api.Pod) -> str:
        """Siblings share an owner, so it is looked for once."""
        owners = pod.metadata.owner_references
        key = owners[0].uid if len(owners) == 1 else ""
        if not key:
            return workload_of(self._api_server, pod)
        if key not in self._workloads:
            self._workloads[key] = workload_of(self._api_server, pod)
        return self._workloads[key]


def _held(story: Story) -> str:
    """Of a pod that has been given a node without being there."""
    return f"held back on its way to node {story.node_name}, at Permit or later" if story.node_name else ""


def _attempt(story: Story | None) -> dict[str, Any]:
    if story is None:
        return {}
    told: dict[str, Any] = {
        "attempts": story.attempts,
        "feasible_nodes": story.feasible,
        "evaluated_nodes": story.evaluated,
    }
    if isinstance(story.detail, TopScores):
        told |= story.detail._asdict()
    else:
        told["decision"] = story.detail
    return told


def _pending(pods: Iterable[PodReport], stories: Mapping[str, Story], nodes: NodeTable) -> Iterator[PendingReport]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for pod in pods:
        if not pod.node:
            namespace = pod.pod.partition("/")[0]
            groups.setdefault((namespace, pod.workload, pod.message), []).append(pod.pod)
    for (_, workload, message), members in groups.items():
        story = stories.get(members[0])
        found = {} if story is None or story.diagnosis is None else story.diagnosis.nodes_by_reason(nodes)
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
            outcome=_outcome(workload, waiting[victim.namespace, workload]),
        )


def _outcome(workload: str, waiting: int) -> str:
    if not workload:
        return "gone: nobody makes it anew"
    return f"made anew by {workload}, " + (f"{waiting} of whose pods wait" if waiting else "all of whose pods run")


def _nodes(nodes: NodeTable) -> Iterator[NodeReport]:
    for info in sorted(nodes, key=lambda info: info.name):
        requested = nodes.requested_of(info.slot)
        yield NodeReport(
            node=info.name,
            pods=requested["pods"],
            requested=_quantities(requested),
            allocatable=_quantities(nodes.allocatable_of(info.slot)),
        )


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{amounts[name]}{'m' if name == 'cpu' else ''}" for name in sorted(amounts)}


def _summary(pods: Sequence[PodReport], recorder: RunRecorder, nodes: NodeTable) -> Summary:
    count = Counter(pod.status for pod in pods)
    return Summary(
        placed=count[PLACED],
        running=count[RUNNING],
        pending=count[PENDING] + count[GATED],
        pending_before=sum(pod.before == PENDING and not pod.node for pod in pods),
        gated=count[GATED],
        evicted=len(recorder.evictions),
        attempts=recorder.decisions,
        nodes=len(nodes),
        nodes_used=sum(bool(nodes.pod_count.values[info.slot]) for info in nodes),
        requested=_totals(nodes, nodes.requested),
        allocatable=_totals(nodes, nodes.allocatable),
    )


def _totals(nodes: NodeTable, columns: Mapping[str, Column]) -> dict[str, int]:
    return {name: sum(columns[name].values[info.slot] for info in nodes) for name in ("cpu", "memory")}
