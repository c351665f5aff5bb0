"""Pod groups through the engine: from the complete gang in the queue to the Bind instructions of its members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from statistics import fmean, median
from time import perf_counter, process_time, time
from typing import Any

import msgspec

from stowplan import api, config
from stowplan.api import codec
from stowplan.bench.machine import calibrate
from stowplan.bench.object_series import nodes
from stowplan.bench.result import encode
from stowplan.bench.scenario import NodeSeries
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE
from stowplan.config.releases import LATEST
from stowplan.engine import Engine
from stowplan.framework import Bind
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime.gc_tuning import settle_heap

_DOMAIN_LABEL = "bench.example.com/domain"
_MS_PER_SECOND = 1000.0


class GroupScenario(msgspec.Struct, frozen=True, kw_only=True):
    """Gangs of equal pods, one after the other, each decided on the nodes that are left."""

    name: str
    members: int
    domains: int = 0
    """Topology domains that the group may run in; 0 for a group without a topology constraint."""
    lacking: int = 0
    """Members by which the gang is short, so that it does not fit."""
    max_scaled_ms: float | None = None
    """With 5,000 nodes."""


GROUP_SCENARIOS = {
    each.name: each
    for each in (
        GroupScenario(name="gang", members=1000, max_scaled_ms=60),
        GroupScenario(name="topology", members=100, domains=200, max_scaled_ms=200),
        GroupScenario(name="unschedulable", members=1000, lacking=1),
    )
}


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Medians over the rounds, in milliseconds for one group."""

    scenario: str
    nodes: int
    members: int
    domains: int
    rounds: int
    bound: int
    """Members bound in each round."""
    wall_ms: float
    cpu_ms: float
    scaled_ms: float
    """`cpu_ms` on a machine where the calibration loop takes one second of CPU time."""
    max_scaled_ms: float | None
    calibration_s: float

    def to_json(self) -> bytes:
        return encode(msgspec.structs.asdict(self))


class GroupTrialRunner:
    """Runs scenarios of groups on clusters of `node_count` nodes."""

    def __init__(
        self, *, node_count: int, rounds: int, seed: int = 0, calibrate: Callable[[], float] | None = None
    ) -> None:
        self._nodes = node_count
        self._rounds = rounds
        self._seed = seed
        self._calibrate = calibrate or _calibrate_cpu

    def run(self, scenario: GroupScenario) -> GroupFigures:
        engine = self._engine(scenario)
        settle_heap()
        before = self._calibrate()
        rounds = [_measure(engine, scenario, number) for number in range(self._rounds)]
        calibration = fmean((before, self._calibrate()))
        cpu = median(each[1] for each in rounds) * _MS_PER_SECOND
        return GroupFigures(
            scenario=scenario.name,
            nodes=self._nodes,
            members=scenario.members,
            domains=scenario.domains,
            rounds=self._rounds,
            bound=min(each[2] for each in rounds),
            wall_ms=median(each[0] for each in rounds) * _MS_PER_SECOND,
            cpu_ms=cpu,
            scaled_ms=cpu / calibration,
            max_scaled_ms=scenario.max_scaled_ms,
            calibration_s=calibration,
        )

    def _engine(self, scenario: GroupScenario) -> Engine:
        gates = [GENERIC_WORKLOAD, GANG_SCHEDULING, *([TOPOLOGY_AWARE] if scenario.domains else [])]
        settings = config.default_configuration(LATEST.with_gates(dict.fromkeys(gates, True)))
        engine = Engine(settings, REGISTRY, clock=time, rng=Random(self._seed))
        for number, node in enumerate(nodes(self._nodes, NodeSeries(), self._seed)):
            node.metadata.labels[_DOMAIN_LABEL] = f"domain-{number % max(scenario.domains, 1)}"
            engine.put(node)
        return engine


def _calibrate_cpu() -> float:
    """CPU seconds of the calibration loop, which other processes do not lengthen."""
    began = process_time()
    calibrate()
    return process_time() - began


def _measure(engine: Engine, scenario: GroupScenario, number: int) -> tuple[float, float, int]:
    """(seconds, CPU seconds, members bound) of one gang. Its events are not measured."""
    for each in _objects(scenario, f"group-{number}"):
        engine.put(each)
    began, cpu = perf_counter(), process_time()
    while engine.schedule_one():
        pass
    took = perf_counter() - began, process_time() - cpu
    bound = 0
    while given := engine.take():
        for instruction in given:
            if isinstance(instruction, Bind):
                bound += 1
                engine.answer(instruction, None)
    return *took, bound


def _objects(scenario: GroupScenario, name: str) -> Iterator[Any]:
    policy = {"gang": {"minCount": scenario.members}}
    spec: dict[str, Any] = {"schedulingPolicy": policy}
    if scenario.domains:
        spec["schedulingConstraints"] = {"topology": [{"key": _DOMAIN_LABEL}]}
    yield codec.convert(api.PodGroup, {"metadata": _metadata(name), "spec": spec})
    for number in range(scenario.members):
        too_large = number >= scenario.members - scenario.lacking
        requests = {"cpu": "10k" if too_large else "100m", "memory": "100Mi"}
        containers = [{"name": "worker", "image": "worker", "resources": {"requests": requests}}]
        spec = {"schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": name}}
        yield codec.convert(
            api.Pod, {"metadata": _metadata(f"{name}-{number}"), "spec": spec | {"containers": containers}}
        )


def _metadata(name: str) -> dict[str, str]:
    return {"name": name, "namespace": "default", "uid": name}
