"""The events of a run as columns, with samples over time: the data that the page replays.

Changes of pods and nodes come from the API server, attempts from the recorder. An event is four numbers; samples are
thinned to at most `MAX_SAMPLES`. A run of given objects takes almost no simulated time, since all its pods are there at
the start; its time is the number of attempts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from stowplan import api
from stowplan.api.quantity import milli_value, value
from stowplan.config.feature_gates import COSCHEDULING
from stowplan.engine.group_event_handlers import with_labelled_group
from stowplan.framework import Pod
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.simulation import Simulation
from stowplan.web.columns import NodesCopy, Times, column, indexed, node_columns
from stowplan.web.history import Buckets, HistoryRing, SchedulingTotals
from stowplan.web.mirror import Mirror
from stowplan.web.pod_table import split_names, workload_key
from stowplan.web.wire import (
    BOUND,
    CREATED,
    EVICTED,
    FAILED,
    GONE,
    JOINED,
    LEFT,
    Mark,
    NodeColumns,
    PodColumns,
    PodNames,
    RunEvents,
    TimeUnit,
)

MAX_SAMPLES = 1024
MAX_ANSWER_EVENTS = 500_000
"""Of one answer: its JSON has 8 MB."""
_FIRST_SAMPLE_SECONDS = 0.05
_WAIT_BOUNDS = tuple(0.1 * 1.5**power for power in range(40))
_PENDING, _NOT_THERE = -1, -2


class _Sample(NamedTuple):
    time: float
    queues: Mapping[str, int]
    totals: SchedulingTotals
    use: Mapping[str, float]


class _PodRow(NamedTuple):
    key: str
    workload: str
    priority: int
    requests: Mapping[str, int]


class RunTimeline:
    """Records a simulation from `begin` on."""

    def __init__(self, *, by_attempts: bool, plays: bool = False) -> None:
        """`plays`: the page starts at the beginning and plays."""
        self._by_attempts = by_attempts
        self._plays = plays
        self._simulation: Simulation | None = None
        self.start = 0.0
        """In seconds since 1970."""
        self._attempts = 0
        self._nodes: dict[str, int] = {}
        """Numbers by name, in the order of first sight."""
        self._node_objects: list[api.Node] = []
        self._pods: dict[str, int] = {}
        """Numbers by uid."""
        self._pod_rows: list[_PodRow] = []
        self._first = array("i")
        """By pod: the number of its node at the start, _PENDING or _NOT_THERE."""
        self._reasons: dict[str, int] = {}
        self._last_reasons: dict[int, int] = {}
        """By pod: the reason of its last failed attempt."""
        self._time, self._kind, self._pod, self._node = array("d"), array("b"), array("i"), array("i")
        self._created: dict[int, float] = {}
        self._marks: list[Mark] = []
        self._samples: list[_Sample] = []
        self._interval = 1.0 if by_attempts else _FIRST_SAMPLE_SECONDS
        self._due = 0.0
        self._bound = self._failed = self._evicted = 0
        self._waits = [0] * (len(_WAIT_BOUNDS) + 1)
        self._membership = -1
        self._whole: dict[str, int] = {}
        """Allocatable of all nodes, at a position of the log of node objects."""

    def begin(self, simulation: Simulation) -> None:
        """Take the state at the start, and record changes from now on."""
        self._simulation, self.start = simulation, simulation.clock.now
        server = simulation.api_server
        for node in server.all(api.Node):
            self._number_node(node)
        for pod in server.all(api.Pod):
            if is_finished(pod):
                continue
            number = self._number_pod(pod)
            self._first[number] = self._nodes.get(pod.spec.node_name, _PENDING)
            self._created[number] = 0.0
        server.listen(api.Node, self._node_changed)
        server.listen(api.Pod, self._pod_changed)
        self._sample()

    @property
    def simulation(self) -> Simulation:
        assert self._simulation is not None, "begin was not called"
        return self._simulation

    @property
    def unit(self) -> TimeUnit:
        return "attempts" if self._by_attempts else "seconds"

    @property
    def now(self) -> float:
        return float(self._attempts) if self._by_attempts else self.simulation.clock.now - self.start

    def attempted(self, pod: Pod, reason: str | None) -> None:
        """A scheduling attempt was decided; `reason` is None if a node was found."""
        self._attempts += 1
        if reason is not None:
            self._failed += 1
            number, why = self._pods.get(pod.uid, -1), self._reasons.setdefault(reason, len(self._reasons))
            # Over simulated time a pod fails alike again and again.
            if self._by_attempts or self._last_reasons.get(number) != why:
                self._last_reasons[number] = why
                self._add(FAILED, number, why)
        self.passed()

    def passed(self) -> None:
        """Time has passed."""
        if self.now >= self._due:
            self._sample()

    def evicted(self, victim: Pod) -> None:
        """A pod is evicted for another one; it is gone later."""
        self._evicted += 1
        self._add(EVICTED, self._pods.get(victim.uid, -1), -1)

    def mark(self, kind: str, text: str) -> None:
        """Mark the present time."""
        self._marks.append(Mark(time=self.now, kind=kind, text=text))

    def _node_changed(self, old: api.Node | None, new: api.Node | None) -> None:
        if old is None and new is not None:
            self._add(JOINED, -1, self._number_node(new))
        elif old is not None and new is None:
            self._add(LEFT, -1, self._nodes[old.metadata.name])

    def _pod_changed(self, old: api.Pod | None, new: api.Pod | None) -> None:
        if new is None or is_finished(new):
            # A finished pod takes nothing of its node; its object may stay for a while.
            if old is not None and not is_finished(old):
                self._add(GONE, self._pods[old.metadata.uid], self._nodes.get(old.spec.node_name, -1))
            return
        number = self._pods.get(new.metadata.uid)
        if number is None:
            number = self._number_pod(new)
            self._created[number] = self.now
            self._add(CREATED, number, -1)
            old = None
        if new.spec.node_name and (old is None or not old.spec.node_name):
            self._bound += 1
            if not self._by_attempts:
                self._waits[bisect_left(_WAIT_BOUNDS, self.now - self._created[number])] += 1
            self._add(BOUND, number, self._nodes.get(new.spec.node_name, -1))

    def _number_node(self, node: api.Node) -> int:
        number = self._nodes.setdefault(node.metadata.name, len(self._nodes))
        if number == len(self._node_objects):
            self._node_objects.append(node)
        return number

    def _number_pod(self, pod: api.Pod) -> int:
        number = self._pods[pod.metadata.uid] = len(self._pod_rows)
        cluster = self.simulation.engine.cluster
        known = cluster.pod(with_labelled_group(pod) if cluster.release.has(COSCHEDULING) else pod)
        self._pod_rows.append(_PodRow(known.key, workload_key(known), known.priority, known.template.requests))
        self._first.append(_NOT_THERE)
        return number

    def _add(self, kind: int, pod: int, node: int) -> None:
        self._time.append(self.now)
        self._kind.append(kind)
        self._pod.append(pod)
        self._node.append(node)

    def _sample(self) -> None:
        engine = self.simulation.engine
        nodes = engine.cluster.nodes
        if self._membership != nodes.node_log.position:
            self._membership = nodes.node_log.position
            self._whole = {
                name: sum(offered.values[info.slot] for info in nodes) for name, offered in nodes.allocatable.items()
            }
        use = {
            name: round(_total(nodes.requested[name].values) / whole, 4)
            for name, whole in self._whole.items()
            if whole and name in nodes.requested
        }
        waits = Buckets(_WAIT_BOUNDS, tuple(self._waits))
        totals = SchedulingTotals(self._bound, self._failed, self._evicted, waits)
        self._samples.append(_Sample(self.now, engine.queue_counts(), totals, use))
        self._due = self.now + self._interval
        if len(self._samples) > MAX_SAMPLES:
            del self._samples[1::2]
            self._interval *= 2

    def fill(self, history: HistoryRing) -> None:
        """Add the samples and marks to a history."""
        if len(self._samples) > 1 and self._samples[-1].time == self.now:
            self._samples.pop()  # Two samples of one time would end the rates with a zero.
        self._sample()
        for sample in self._samples:
            history.add(*sample)
        history.marks.extend(self._marks)

    def events(self, mirror: Mirror, first: int = 0) -> RunEvents:
        """Events from a number on, at most MAX_ANSWER_EVENTS, for the columns of a mirror."""
        end = first + MAX_ANSWER_EVENTS
        milliseconds = [round(time * 1000) for time in self._time[first:end]]
        before = [round(self._time[first - 1] * 1000) if first and milliseconds else 0, *milliseconds]
        return RunEvents(
            epoch=mirror.epoch,
            first=first,
            total=len(self._time),
            unit=self.unit,
            end=self.now,
            plays=self._plays,
            dt=[now - then for now, then in zip(milliseconds, before[:-1], strict=True)],
            kind=self._kind[first:end].tolist(),
            pod=self._pod[first:end].tolist(),
            node=self._node[first:end].tolist(),
            nodes=[] if first else list(self._nodes),
            lost=self._lost(mirror),
            start=[] if first else column(self._first.tolist()),
            reasons=[] if first else list(self._reasons),
            marks=self._marks,
        )

    def pods(self, mirror: Mirror) -> PodColumns:
        """The node of each pod of the run at the end, by the pod's number; -1: not on a node."""
        cluster, rows = self.simulation.engine.cluster, self._pod_rows
        present = {pod.uid: pod.node_name for pod in cluster.pods.values()}
        slots = {info.name: info.slot for info in cluster.nodes}
        return PodColumns(
            epoch=mirror.epoch,
            revision=mirror.revision,
            number=len(rows),
            node=column([slots.get(present.get(uid, ""), -1) for uid in self._pods]),
            workload=indexed([row.workload for row in rows]),
            priority=column([row.priority for row in rows]),
            requests={
                name: column([row.requests.get(name, 0) for row in rows]) for name in mirror.resources if name != "pods"
            },
        )

    def pod_names(self, mirror: Mirror) -> PodNames:
        return split_names([row.key for row in self._pod_rows], mirror.epoch, mirror.revision)

    def _lost(self, mirror: Mirror) -> NodeColumns:
        """Nodes that are gone at the end."""
        present = {node.metadata.name for node in mirror.nodes if node is not None}
        gone = [node for node in self._node_objects if node.metadata.name not in present]
        offered = {
            name: [(milli_value if name == "cpu" else value)(node.status.allocatable.get(name, 0)) for node in gone]
            for name in mirror.resources
        }
        nothing = {name: [0] * len(gone) for name in offered}
        copy = NodesCopy(0, 0, range(len(gone)), list(gone), offered, nothing)
        return node_columns(copy, mirror.resources, mirror.labels, Times(0.0))


def _total(values: list[int] | dict[int, int]) -> int:
    return sum(values if isinstance(values, list) else values.values())
