"""The descheduler of a scenario: checked settings, and its runs over time."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from stowplan.config.errors import Problems
from stowplan.simulator.api_server import ApiServer, StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.descheduler import Descheduler, DeschedulerSettings, NodeUtilization, Percentages
from stowplan.simulator.scenario.fields import object_count, time_at
from stowplan.simulator.scenario.schema import DeschedulerSpec, HighNodeUtilizationSpec, LowNodeUtilizationSpec

_PATH = "$.descheduler"
_STRATEGIES = ("LowNodeUtilization", "HighNodeUtilization", "PodLifeTime")
_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_MAX_PERCENT = 100.0
_DEFAULTS = dict.fromkeys(("cpu", "memory", "pods"), _MAX_PERCENT)
"""Percentages of resources that thresholds do not name."""


class CompiledDescheduler(NamedTuple):
    """A descheduler that was checked."""

    settings: DeschedulerSettings
    begin: float
    every: float
    end: float


def compile_descheduler(spec: DeschedulerSpec | None, problems: Problems) -> CompiledDescheduler | None:
    """Check the descheduler; faults are added to `problems`."""
    if spec is None:
        return None
    if spec.low is None and spec.high is None and spec.age is None:
        problems.required(_PATH, f"one of {', '.join(_STRATEGIES)}")
    age = f"{_PATH}.PodLifeTime.maxPodLifeTimeSeconds"
    settings = DeschedulerSettings(
        None if spec.age is None else time_at(spec.age.max_seconds, age, problems, positive=True),
        None if spec.low is None else _low(spec.low, problems),
        None if spec.high is None else _high(spec.high, problems),
        _limit(spec.max_per_node, "maxNoOfPodsToEvictPerNode", problems),
        _limit(spec.max_total, "maxNoOfPodsToEvictTotal", problems),
    )
    every = time_at(spec.every, f"{_PATH}.every", problems, positive=True)
    begin = time_at(spec.from_, f"{_PATH}.from", problems)
    end = math.inf if spec.to is None else time_at(spec.to, f"{_PATH}.to", problems)
    return CompiledDescheduler(settings, begin + every, every, end)


def _limit(value: int | None, name: str, problems: Problems) -> int | None:
    return None if value is None else object_count(value, f"{_PATH}.{name}", problems)


def _low(spec: LowNodeUtilizationSpec, problems: Problems) -> NodeUtilization:
    path = f"{_PATH}.LowNodeUtilization"
    thresholds = _percentages(spec.thresholds, f"{path}.thresholds", problems)
    target = _percentages(spec.target_thresholds, f"{path}.targetThresholds", problems)
    for name in sorted(thresholds.keys() | target.keys()):
        if name not in thresholds or name not in target:
            missing = "targetThresholds" if name in thresholds else "thresholds"
            problems.required(f"{path}.{missing}.{name}", "both thresholds name the same resources")
        elif thresholds[name] > target[name]:
            problems.add(f"{path}.thresholds.{name}", "must not be larger than the target threshold")
    nodes = object_count(spec.number_of_nodes, f"{path}.numberOfNodes", problems)
    return NodeUtilization(_DEFAULTS | thresholds, _DEFAULTS | target, nodes)


def _high(spec: HighNodeUtilizationSpec, problems: Problems) -> NodeUtilization:
    path = f"{_PATH}.HighNodeUtilization"
    thresholds = _percentages(spec.thresholds, f"{path}.thresholds", problems)
    nodes = object_count(spec.number_of_nodes, f"{path}.numberOfNodes", problems)
    thresholds = _DEFAULTS | thresholds
    return NodeUtilization(thresholds, dict.fromkeys(thresholds, _MAX_PERCENT), nodes)


def _percentages(given: Percentages, path: str, problems: Problems) -> dict[str, float]:
    if not given:
        problems.required(path)
    for name, share in given.items():
        if name not in _RESOURCES and "/" not in name:
            problems.unsupported(path, name, _RESOURCES)
        elif not 0 <= share <= _MAX_PERCENT:
            problems.add(f"{path}.{name}", "must be between 0 and 100")
    return dict(given)


def start_descheduler(compiled: CompiledDescheduler, descheduler: Descheduler, server: ApiServer, start: float) -> None:
    """Run the descheduler at its times; `start` is the start of the scenario."""

    def schedule(time: float) -> None:
        if time <= compiled.end:
            server.at(to_microseconds(start + time), partial(run, time), StepOrder.NODE)

    def run(time: float) -> None:
        descheduler.run()
        schedule(time + compiled.every)

    schedule(compiled.begin)
