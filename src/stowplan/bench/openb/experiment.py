"""One openb experiment: pods arrive one by one, each is tried once, and stays or is deleted at once.

The cluster is empty at first. Of equal nodes the one with the lowest rank is chosen, as in the published experiments:
a random order of the nodes that is the same for the whole run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, Literal

import msgspec

from stowplan import api
from stowplan.bench.openb.load_curve import LoadCurve
from stowplan.config import KubeSchedulerConfiguration, read
from stowplan.config.conversion import PolicySource
from stowplan.errors import InputError
from stowplan.optional_plugins.fractional_gpu import FractionalGPU
from stowplan.optional_plugins.fractional_gpu.fragmentation import TargetPod, TargetWorkload
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.simulation import Simulation
from stowplan.traces import Arrival, TraceNode, TraceObjects, open_trace
from stowplan.traces.openb import Openb
from stowplan.traces.records import GPU_MILLI

POLICIES = {
    "Random": "Random",
    "DotProd": "DotProduct",
    "GpuClustering": "Clustering",
    "GpuPacking": "Packing",
    "BestFit": "BestFit",
    "FGD": "FGD",
}
"""Policies of FractionalGPU by their names in the published results."""

TRACE_INFLATION_FACTOR = 1.3
_NAMESPACE = "default"
_PROGRESS_ARRIVALS = 500


class OpenbExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """What determines an experiment."""

    data: str
    """The folder with the trace."""
    policy: str = "FGD"
    trace: str = "default"
    seed: int = 42
    order: Literal["file", "shuffle"] = "file"
    limit: int | None = None
    """Number of arrivals, at most."""


class OpenbResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an experiment; all but the time and the comparison depends on the experiment alone."""

    trace: str
    policy: str
    seed: int
    order: str
    nodes: int
    pods: int
    placed: int
    used_milli: int
    """Of GPUs, at the end."""
    arrived_milli: int
    allocation: list[float]
    """Percent of all GPUs, by arrived load from 0 to 130 percent."""
    fragmentation: list[float]
    """Percent of idle GPUs, by arrived load."""
    cpu_seconds: float
    equal_allocation: int | None = None
    """Points of the curve that equal the published ones; None without these."""
    equal_fragmentation: int | None = None

    @property
    def scenario(self) -> str:
        return f"{self.trace}/{self.policy}/{self.seed}"

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


def run_experiment(experiment: OpenbExperiment, progress: Callable[[int], None] | None = None) -> OpenbResult:
    """Run an experiment; `progress` is called with the number of arrivals now and then."""
    if experiment.policy not in POLICIES:
        raise InputError(f'unknown policy "{experiment.policy}": one of {", ".join(POLICIES)}')
    begun_at = process_time()
    run = _Run(experiment)
    for number in run.arrive():
        if progress is not None and number % _PROGRESS_ARRIVALS == 0:
            progress(number)
    return run.result(process_time() - begun_at)


class _Run:
    """An experiment under way."""

    def __init__(self, experiment: OpenbExperiment) -> None:
        self._experiment = experiment
        options: dict[str, Any] = {"trace": experiment.trace, "seed": experiment.seed, "order": experiment.order}
        if experiment.limit is not None:
            options["limit"] = experiment.limit
        loader = open_trace("openb", Path(experiment.data), {**options, "inflate": TRACE_INFLATION_FACTOR})
        assert isinstance(loader, Openb)
        self._loader = loader
        self._workload = TargetWorkload.of(TargetPod(p.cpu, p.milli, p.gpus, p.models) for p in loader.pods)
        self._simulation = Simulation(configuration(experiment, self._workload), REGISTRY)
        profile = next(iter(self._simulation.engine.profiles.values()))
        profile.ties.by_name = True
        self._plugin = next(plugin for plugin in profile.filters if isinstance(plugin, FractionalGPU))
        self._objects = TraceObjects(_NAMESPACE)
        self._capacity = self._add_nodes()
        self._table = self._plugin.nodes
        self._fragmented = [self._fragmented_on(slot) for slot in range(self._table.high)]
        self._total = sum(self._fragmented)
        self._curve = LoadCurve(self._capacity)
        self._pods = self._placed = self._arrived = self._used = 0

    def _add_nodes(self) -> int:
        """Add the nodes, named after their ranks; returns their GPUs in thousandths."""
        nodes = sorted(self._loader.nodes(), key=lambda node: node.name)
        for rank, node in zip(self._ranks(nodes), nodes, strict=True):
            self._simulation.api_server.put(self._objects.node(node._replace(name=f"{rank:04d}-{node.name}")))
        self._simulation.settle()
        return sum(node.allocatable.get(GPU_MILLI, 0) for node in nodes)

    def _ranks(self, nodes: list[TraceNode]) -> list[int]:
        if self._experiment.order == "file":
            ranks = self._loader.read_order().node_ranks
            if len(ranks) != len(nodes):
                raise InputError(f"the order file ranks {len(ranks)} nodes, the node list has {len(nodes)}")
            return ranks
        ranks = list(range(len(nodes)))
        random.Random(f"{self._experiment.seed}/ranks").shuffle(ranks)
        return ranks

    def arrive(self) -> Iterator[int]:
        """Let all pods arrive; yields their number so far after each."""
        for arrival in self._loader.selected():
            self._arrived += arrival.requests.get(GPU_MILLI, 0)
            self._pods += 1
            node_name = self._try(arrival)
            if node_name:
                self._placed += 1
                self._used += arrival.requests.get(GPU_MILLI, 0)
                slot = self._table.slot_of[node_name]
                before, after = self._fragmented[slot], self._fragmented_on(slot)
                self._fragmented[slot] = after
                self._total += after - before
            self._curve.note(self._arrived, self._used, self._total, self._workload.total)
            yield self._pods

    def _try(self, arrival: Arrival) -> str:
        """The pod's node; a pod without one is deleted."""
        simulation = self._simulation
        created = next(self._objects.pods(arrival))
        simulation.controllers.create_pod(created)
        simulation.settle()
        simulation.step()
        pod = simulation.api_server.get(api.Pod, created.metadata.name, _NAMESPACE)
        assert pod is not None
        if not pod.spec.node_name:
            simulation.api_server.delete(pod)
            simulation.settle()
        return pod.spec.node_name

    def _fragmented_on(self, slot: int) -> int:
        info = self._table.infos[slot]
        assert info is not None
        model = info.labels.get(self._plugin.args.model_label, "")
        return self._workload.fragmented(self._plugin.cpu_left(slot), self._plugin.gpus.of(slot).left, model)

    def result(self, cpu_seconds: float) -> OpenbResult:
        left = sum(sum(self._plugin.gpus.of(slot).left) for slot in range(self._table.high))
        if left + self._used != self._capacity:
            raise RuntimeError(f"{left} left and {self._used} used of {self._capacity}")
        given = self._experiment
        return OpenbResult(
            trace=given.trace,
            policy=given.policy,
            seed=given.seed,
            order=given.order,
            nodes=len(self._table),
            pods=self._pods,
            placed=self._placed,
            used_milli=self._used,
            arrived_milli=self._arrived,
            allocation=self._curve.allocation(),
            fragmentation=self._curve.fragmentation(),
            cpu_seconds=cpu_seconds,
        )


def configuration(experiment: OpenbExperiment, workload: TargetWorkload) -> KubeSchedulerConfiguration:
    """Default filters, and FractionalGPU alone for scoring. Preemption, which finds no victims among pods of equal
    priority, is off."""
    policy = POLICIES[experiment.policy]
    args: dict[str, Any] = {"policy": policy, "seed": experiment.seed}
    if policy == "FGD":
        args["workloadPods"] = workload.pods
        args["workload"] = [
            {"cpu": pod.cpu, "milli": pod.milli, "gpus": pod.gpus, "models": pod.models, "count": count}
            for pod, count in workload.classes
        ]
    plugins = {
        "multiPoint": {"enabled": [{"name": FractionalGPU.name}]},
        "postFilter": {"disabled": [{"name": "*"}]},
        "score": {"enabled": [{"name": FractionalGPU.name, "weight": 1}], "disabled": [{"name": "*"}]},
    }
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins, "pluginConfig": [{"name": FractionalGPU.name, "args": args}]}],
    }
    return read(msgspec.json.encode(document), "openb", frozenset({FractionalGPU.name}), _no_policy).config


def _no_policy(source: PolicySource) -> bytes:
    raise InputError(f"unexpected policy: {source}")
