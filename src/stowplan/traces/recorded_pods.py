"""Recordings of clusters as traces: their nodes, and their pods as arrivals with the durations that they had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from stowplan import api
from stowplan.api import quantity
from stowplan.errors import InputError
from stowplan.traces.cluster_recording import ClusterRecording
from stowplan.traces.loader import TraceLoader
from stowplan.traces.records import Arrival, TraceNode
from stowplan.traces.rows import find_file
from stowplan.traces.selection import TraceSelection

_OUTCOMES = {"Succeeded": "succeeded", "Failed": "failed"}
_NODE_DOWN = "node.kubernetes.io/"
_INCOMPLETE = "the recording is not complete; with incomplete: true it is used up to there"


class RecordingOptions(TraceSelection, kw_only=True, frozen=True):
    """Options of recording."""

    running: Literal["stay", "anew", "none"] = "stay"
    """Pods that had a node at the start: they are there at time 0 if the node is, arrive without a node, or are left
    out."""
    daemon_sets: bool = True
    """Whether pods of DaemonSets arrive, which fit only on the node that they name."""
    incomplete: bool = False
    """Whether a recording that ended early is used up to there."""


class _RecordedPod:
    """One pod of a recording; times are seconds since its start."""

    __slots__ = ("arrived", "bound", "ended", "first", "outcome")

    def __init__(self, first: api.Pod, arrived: float) -> None:
        self.first = first
        self.arrived = arrived
        self.bound: float | None = None
        self.ended: float | None = None
        self.outcome = ""


class RecordedPods(TraceLoader):
    """Loads a file that `stowplan record` wrote. Pods keep labels, requests, priority and all rules about nodes and
    other pods, but not their volumes, claims, groups and owners. Nodes are as they were when they were first seen."""

    name = "recording"
    origin = "stowplan record"
    Options = RecordingOptions
    options: RecordingOptions

    def nodes(self) -> Iterator[TraceNode]:
        seen: set[str] = set()
        for time, item, removed in self._changes():
            if isinstance(item, api.Node) and not removed and item.metadata.name not in seen:
                seen.add(item.metadata.name)
                allocatable = _amounts(item.status.allocatable)
                yield TraceNode(item.metadata.name, allocatable, item.metadata.labels, time, _plain_node(item))

    def arrivals(self) -> Iterator[Arrival]:
        pods: dict[str, _RecordedPod] = {}
        finished: set[str] = set()
        for time, item, removed in self._changes():
            if not isinstance(item, api.Pod) or (uid := _uid(item)) in finished:
                continue
            ends = removed or item.metadata.deletion_timestamp is not None or item.status.phase in _OUTCOMES
            if uid not in pods:
                if ends:
                    self.dropped["ended before the recording"] += 1
                    finished.add(uid)
                    continue
                if item.spec.scheduling_gates:
                    continue
                pods[uid] = _RecordedPod(item, time)
            found = pods[uid]
            if item.spec.node_name and found.bound is None:
                found.bound = time
            if ends:
                found.ended, found.outcome = time, _OUTCOMES.get(item.status.phase, "killed")
                finished.add(uid)
        yield from self._named(sorted(pods.values(), key=lambda pod: pod.arrived))

    def _named(self, pods: list[_RecordedPod]) -> Iterator[Arrival]:
        """Arrivals of pods. A later pod with the name of an earlier one, as StatefulSets make them, gets a number."""
        numbers: Counter[str] = Counter()
        for found in pods:
            first = found.first
            if reason := self._left_out(found):
                self.dropped[reason] += 1
                continue
            name = f"{first.metadata.namespace}/{first.metadata.name}"
            numbers[name] += 1
            key = name if numbers[name] == 1 else f"{name}-{numbers[name]}"
            yield self._arrival(found, key)

    def _left_out(self, found: _RecordedPod) -> str:
        """Why the pod does not arrive; empty if it does."""
        owners = found.first.metadata.owner_references
        if found.first.spec.node_name and self.options.running == "none":
            return "had a node at the start"
        if owners and owners[0].kind == "DaemonSet" and not self.options.daemon_sets:
            return "of a DaemonSet"
        return "deleted before it had a node" if found.bound is None and found.ended is not None else ""

    def _arrival(self, found: _RecordedPod, key: str) -> Arrival:
        first, bound, ended = found.first, found.bound, found.ended
        owners = first.metadata.owner_references
        return Arrival(
            found.arrived,
            key,
            owners[0].uid if owners else key,
            _requests(first),
            None if bound is None or ended is None else ended - bound,
            priority=first.spec.priority or 0,
            tenant=first.metadata.namespace,
            outcome=found.outcome or ("" if bound is not None else "pending"),
            waited=None if bound is None else bound - found.arrived,
            pod=_plain_pod(first, key.rpartition("/")[2], stays=self.options.running == "stay"),
        )

    def _changes(self) -> Iterator[tuple[float, object, bool]]:
        """(time, object, whether it was removed); objects of the list at the start have time 0."""
        recording = ClusterRecording(self._file())
        is_listed = False
        for change, item in recording.changes():
            if item is None:
                is_listed = True
            else:
                yield change.time if is_listed else 0.0, item, change.removed
        if not recording.complete and not self.options.incomplete:
            raise InputError(f"{recording.file}: {_INCOMPLETE}")

    def _file(self) -> Path:
        names = sorted(path.name for path in self.source.glob("*.rec.gz")) if self.source.is_dir() else []
        return find_file(self.source, *(names or ["*.rec.gz"]))


def _uid(pod: api.Pod) -> str:
    return pod.metadata.uid or f"{pod.metadata.namespace}/{pod.metadata.name}"


def _plain_node(node: api.Node) -> api.Node:
    """The node without marks of its passing state, which a simulation sets by itself."""
    taints = tuple(each for each in node.spec.taints if not each.key.startswith(_NODE_DOWN))
    metadata = api.ObjectMeta(
        name=node.metadata.name, labels=node.metadata.labels, annotations=node.metadata.annotations
    )
    return replace(node, metadata=metadata, spec=replace(node.spec, taints=taints))


def _plain_pod(pod: api.Pod, name: str, *, stays: bool) -> api.Pod:
    """The pod without references to objects that a trace does not have."""
    given = pod.metadata
    metadata = api.ObjectMeta(name=name, namespace=given.namespace, labels=given.labels, annotations=given.annotations)
    spec = replace(
        pod.spec,
        node_name=pod.spec.node_name if stays else "",
        priority=pod.spec.priority or 0,
        priority_class_name="",
        volumes=(),
        resource_claims=(),
        scheduling_gates=(),
        scheduling_group=None,
    )
    return api.Pod(metadata=metadata, spec=spec)


def _requests(pod: api.Pod) -> dict[str, int]:
    """The sum of the containers' requests."""
    total: Counter[str] = Counter({"cpu": 0, "memory": 0})
    for container in pod.spec.containers:
        total.update(_amounts(container.resources.requests))
    return dict(total)


def _amounts(given: api.ResourceList) -> dict[str, int]:
    """Milli-cores for cpu, bytes for memory, units for other resources."""
    return {
        name: quantity.milli_value(amount) if name == "cpu" else quantity.value(amount)
        for name, amount in given.items()
    }
