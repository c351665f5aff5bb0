"""Replicas of a workload over time: a schedule with ramps, or a load as a HorizontalPodAutoscaler sees it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from stowplan.config.errors import Problems
from stowplan.simulator.scenario.fields import object_count, time_at
from stowplan.simulator.scenario.quantities import number_of, read_column, seconds_of
from stowplan.simulator.scenario.schema import LoadSpec, ReplicasSpec


class ReplicaSchedule(NamedTuple):
    """Times in ascending order, each with the replicas from then on."""

    steps: tuple[tuple[float, int], ...]

    @property
    def first(self) -> int:
        """Replicas at the start."""
        return self.steps[0][1] if self.steps and self.steps[0][0] <= 0 else 0


def compile_replicas(spec: ReplicasSpec, path: str, problems: Problems) -> ReplicaSchedule:
    """The schedule; a change takes the time of `ramp`, one replica at a time."""
    ramp = time_at(spec.ramp, f"{path}.ramp", problems)
    if not spec.at:
        problems.required(f"{path}.at")
    wanted = []
    for key, count in spec.at.items():
        where = f"{path}.at.{key}"
        wanted.append(
            (
                time_at(float(key) if key.isdecimal() else key, where, problems),
                object_count(count, where, problems),
            )
        )
    steps: list[tuple[float, int]] = []
    before = None
    for time, count in sorted(wanted):
        if before is None or not ramp or abs(count - before) <= 1:
            steps.append((time, count))
        else:
            change = 1 if count > before else -1
            size = abs(count - before)
            steps += [(time + ramp * number / size, before + change * number) for number in range(1, size + 1)]
        before = count
    return ReplicaSchedule(tuple(sorted(steps, key=lambda step: step[0])))


def compile_load(spec: LoadSpec, path: str, problems: Problems, folder: Path) -> ReplicaSchedule:
    """Replicas by a load: ceil(load / target), within the bounds."""
    if spec.target <= 0:
        problems.add(f"{path}.target", "must be greater than 0")
        return ReplicaSchedule(())
    try:
        times = read_column(folder / spec.file, "time", seconds_of, "")
        loads = read_column(folder / spec.file, "load", number_of, "")
    except ValueError as error:
        problems.add(f"{path}.file", str(error))
        return ReplicaSchedule(())
    if times != sorted(times):
        problems.add(f"{path}.file", f"{folder / spec.file}: times must ascend")
    object_count(spec.max, f"{path}.max", problems)
    counts = [min(max(math.ceil(load / spec.target), spec.min), spec.max) for load in loads]
    return ReplicaSchedule(tuple(zip(times, counts, strict=True)))
