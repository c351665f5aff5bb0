"""openb: pods and nodes of a production GPU cluster (Alibaba GPU trace v2023)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from stowplan.errors import InputError
from stowplan.traces.loader import TraceLoader
from stowplan.traces.records import GPU_MILLI, GPU_MODEL, MIB, NO_AFFINITY, NOTHING, Arrival, TraceNode
from stowplan.traces.rows import Row, find_file, read_lines, read_rows
from stowplan.traces.selection import TraceSelection

WHOLE_GPU = 1000
_MAX_PODS = 1001
_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_TIMES = ("creation_time", "scheduled_time", "deletion_time")


class OpenbPod(NamedTuple):
    """A row of the pod list."""

    name: str
    cpu: int
    memory: int
    """Bytes."""
    gpus: int
    milli: int
    """Of each GPU."""
    models: str
    """Allowed models, joined by |; any if empty."""
    created: float = 0.0
    scheduled: float | None = None
    deleted: float | None = None
    phase: str = ""

    @property
    def total_milli(self) -> int:
        return self.gpus * self.milli


class OpenbOrder(msgspec.Struct):
    """A line of an order file: the pods of an experiment in the order of arrival, and the ranks of nodes for ties."""

    trace: str
    seed: int
    pods: list[int]
    """Numbers in the names of the pods."""
    node_ranks: list[int]
    """By node, sorted by name."""


class OpenbOptions(TraceSelection, kw_only=True, frozen=True):
    """Options of openb."""

    trace: str = "default"
    """The pod list: default, cpu250, gpushare100, gpuspec33, multigpu50 and others."""
    nodes: Literal["gpu", "all"] = "gpu"
    """The node list. Names mean different machines in the two lists."""
    order: Literal["creation", "shuffle", "file"] = "creation"
    """By creation time; shuffled; or as `orders` has it. With the last two, pods arrive one per second and stay."""
    orders: str = "openb_orders.jsonl"
    """The order file, beside the lists."""
    seed: int = 42
    inflate: Annotated[float, Meta(ge=0)] = 0.0
    """With order shuffle: GPU requests of all arrivals, as a multiple of the cluster's GPUs; 0: the listed pods."""
    departures: bool = True
    """Whether pods end; only with order creation."""


class Openb(TraceLoader):
    """Loads openb_node_list_*.csv and openb_pod_list_*.csv."""

    name = "openb"
    origin = "github.com/alibaba/clusterdata, cluster-trace-gpu-v2023 (Apache-2.0)"
    Options = OpenbOptions
    options: OpenbOptions

    def nodes(self) -> Iterator[TraceNode]:
        path = find_file(self.source, f"openb_node_list_{self.options.nodes}_node.csv")
        for row in read_rows(path, _NODE_COLUMNS):
            amounts = {"cpu": row.amount("cpu_milli"), "memory": row.amount("memory_mib", MIB), "pods": _MAX_PODS}
            model, gpus = row.text("model"), row.amount("gpu", WHOLE_GPU)
            labels = {GPU_MODEL: model} if model else NOTHING
            yield TraceNode(row.text("sn"), {**amounts, GPU_MILLI: gpus} if gpus else amounts, labels)

    @cached_property
    def pods(self) -> list[OpenbPod]:
        """The pod list, as it is in the file."""
        path = find_file(self.source, f"openb_pod_list_{self.options.trace}.csv")
        pods = [_pod(row) for row in read_rows(path, _POD_COLUMNS + self._times())]
        if not pods:
            raise InputError(f"{path}: no pods")
        return pods

    def arrivals(self) -> Iterator[Arrival]:
        if self.options.order != "creation":
            copies: dict[str, int] = {}
            for second, pod in enumerate(self.sequence()):
                copy = copies[pod.name] = copies.get(pod.name, -1) + 1
                key = f"{pod.name}-{copy}" if copy else pod.name
                yield Arrival(float(second), key, key, requests_of(pod), None, affinity=affinity_of(pod))
            return
        for pod in sorted(self.pods, key=lambda pod: pod.created):
            duration = None
            if self.options.departures and pod.deleted is not None:
                if pod.scheduled is None:
                    self.dropped["never scheduled"] += 1
                    continue
                duration = pod.deleted - pod.scheduled
            yield Arrival(
                pod.created,
                pod.name,
                pod.name,
                requests_of(pod),
                duration,
                affinity=affinity_of(pod),
                outcome=pod.phase.lower(),
                waited=None if pod.scheduled is None else pod.scheduled - pod.created,
            )

    def _times(self) -> tuple[str, ...]:
        """The columns of times that the options need."""
        if self.options.order != "creation":
            return ()
        return _TIMES if self.options.departures else _TIMES[:1]

    def sequence(self) -> list[OpenbPod]:
        """The pods of an experiment in the order of arrival."""
        if self.options.order == "file":
            return self._listed(self.read_order().pods)
        return tuned_order(self.pods, self._goal(), random.Random(self.options.seed))

    def read_order(self) -> OpenbOrder:
        """The line of the order file for this pod list and seed."""
        path = find_file(self.source, self.options.orders)
        decoder = msgspec.json.Decoder(OpenbOrder)
        for number, line in read_lines(path):
            if f'"{self.options.trace}"' in line[:100]:
                try:
                    order = decoder.decode(line)
                except msgspec.DecodeError as problem:
                    raise InputError(f"{path}:{number}: {problem}") from None
                if (order.trace, order.seed) == (self.options.trace, self.options.seed):
                    return order
        raise InputError(f"{path}: no order for trace {self.options.trace} and seed {self.options.seed}")

    def _listed(self, numbers: Sequence[int]) -> list[OpenbPod]:
        by_number = {pod.name.rpartition("-")[2].lstrip("0") or "0": pod for pod in self.pods}
        unknown = next((number for number in numbers if str(number) not in by_number), None)
        if unknown is not None:
            raise InputError(f"{self.options.orders}: pod {unknown} is not in the pod list {self.options.trace}")
        return [by_number[str(number)] for number in numbers]

    def _goal(self) -> float:
        return self.options.inflate * sum(node.allocatable.get(GPU_MILLI, 0) for node in self.nodes())


def tuned_order(pods: Sequence[OpenbPod], goal: float, rng: random.Random) -> list[OpenbPod]:
    """The pods shuffled; then copies of random pods appended, or random pods removed, until their GPU requests reach
    the goal (0: none). A drawn pod is compared by the request of one of its GPUs, as the published experiments do."""
    by_name = sorted(pods, key=lambda pod: pod.name)
    order = list(by_name)
    rng.shuffle(order)
    total = sum(pod.total_milli for pod in order)
    if not goal:
        return order
    if total < goal and any(pod.milli for pod in by_name):
        while total + (pod := by_name[rng.randrange(len(by_name))]).milli <= goal:
            total += pod.total_milli
            order.append(pod)
    while total > goal:
        total -= order.pop(rng.randrange(len(order))).total_milli
    return order


def requests_of(pod: OpenbPod) -> Mapping[str, int]:
    requests = {"cpu": pod.cpu, "memory": pod.memory}
    return {**requests, GPU_MILLI: pod.total_milli} if pod.total_milli else requests


def affinity_of(pod: OpenbPod) -> Mapping[str, tuple[str, ...]]:
    if not pod.models or not pod.gpus:
        return NO_AFFINITY
    return {GPU_MODEL: tuple(dict.fromkeys(filter(None, pod.models.split("|"))))}


def _pod(row: Row) -> OpenbPod:
    created, scheduled, deleted = (row.number(time) if row.text(time) else None for time in _TIMES)
    if scheduled is not None and deleted is not None:
        row.duration(scheduled, deleted, "scheduled_time to deletion_time")
    return OpenbPod(
        name=row.text("name"),
        cpu=row.amount("cpu_milli"),
        memory=row.amount("memory_mib", MIB),
        gpus=row.amount("num_gpu"),
        milli=min(row.amount("gpu_milli"), WHOLE_GPU),
        models=row.text("gpu_spec"),
        created=created or 0.0,
        scheduled=scheduled,
        deleted=deleted,
        phase=row.text("pod_phase"),
    )


def lists_in(source: Path) -> list[str]:
    """The names of the pod lists in a folder."""
    return sorted({path.name.split(".")[0].removeprefix("openb_pod_list_") for path in source.glob("openb_pod_list_*")})
