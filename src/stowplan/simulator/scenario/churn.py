"""Churn of a scenario: pods that are deleted, and rolling updates."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import NamedTuple

from stowplan import api
from stowplan.config.errors import Problems
from stowplan.errors import InputError
from stowplan.simulator.api_server import StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.kubelet import Kubelet, PodLife
from stowplan.simulator.scaling import RollingUpdate
from stowplan.simulator.scenario.fields import probability, time_at
from stowplan.simulator.scenario.quantities import time_text
from stowplan.simulator.scenario.schema import ChurnSpec, RollSpec
from stowplan.simulator.streams import RandomStreams

_PERCENTAGE = re.compile(r"\d{1,4}%")


class CompiledChurn(NamedTuple):
    """A churn that was checked."""

    path: str
    spec: ChurnSpec
    begin: float
    every: float
    """0: once."""
    end: float


def compile_churn(spec: ChurnSpec, path: str, problems: Problems) -> CompiledChurn:
    """Check a churn; faults are added to `problems`."""
    if (spec.delete is None) == (spec.roll is None):
        problems.add(path, "expected one of delete and roll")
    if (spec.at is None) == (spec.every is None):
        problems.add(path, "expected one of at and every")
    begin = time_at(spec.at if spec.at is not None else spec.from_, f"{path}.at", problems)
    every = 0.0 if spec.every is None else time_at(spec.every, f"{path}.every", problems, positive=True)
    end = math.inf if spec.to is None else time_at(spec.to, f"{path}.to", problems)
    if spec.delete is not None:
        probability(spec.delete.share, f"{path}.delete.share", problems)
        if bool(spec.delete.share) == bool(spec.delete.count):
            problems.add(f"{path}.delete", "expected one of share and count")
    if spec.roll is not None:
        if not spec.roll.name:
            problems.required(f"{path}.roll.name")
        if spec.roll.kind != "Deployment":
            problems.unsupported(f"{path}.roll.kind", spec.roll.kind, ["Deployment"])
        _check_limits(spec.roll, f"{path}.roll", problems)
    return CompiledChurn(path.removeprefix("$."), spec, begin + every, every, end)


def _check_limits(spec: RollSpec, path: str, problems: Problems) -> None:
    limits = {"maxUnavailable": spec.max_unavailable, "maxSurge": spec.max_surge}
    for name, value in limits.items():
        is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not is_number and not (isinstance(value, str) and _PERCENTAGE.fullmatch(value)):
            problems.add(f"{path}.{name}", "expected a number of pods, or a percentage such as 25%")
    if all(value in (0, "0%") for value in limits.values()):
        problems.add(path, "maxUnavailable and maxSurge cannot both be 0")


class ChurnDriver:
    """Carries out one churn."""

    def __init__(
        self, churn: CompiledChurn, streams: RandomStreams, kubelet: Kubelet, start: float, source: str
    ) -> None:
        self._churn = churn
        self._source = source
        self._streams = streams
        self._kubelet = kubelet
        self._start = start
        self._number = 0
        self._update: RollingUpdate | None = None

    def begin(self) -> None:
        self._at(self._churn.begin)

    def _at(self, time: float) -> None:
        if time <= self._churn.end:
            self._kubelet.api_server.at(to_microseconds(self._start + time), partial(self._run, time), StepOrder.NODE)

    def _run(self, time: float) -> None:
        self._number += 1
        spec = self._churn.spec
        if spec.delete is not None:
            self._delete()
        elif spec.roll is not None:
            roll = spec.roll
            if self._kubelet.api_server.get(api.Deployment, roll.name, roll.namespace) is None:
                text = f"there is no Deployment {roll.namespace}/{roll.name} at {time_text(time)}"
                raise InputError(f"{self._source}: $.{self._churn.path}.roll: {text}")
            self._update = RollingUpdate(self._kubelet, roll.name, roll.namespace, roll.max_unavailable, roll.max_surge)
            self._update.begin()
        if self._churn.every:
            self._at(time + self._churn.every)

    def pod_changed(self) -> None:
        """A pod has started or ended: a rolling update may go on."""
        if self._update is not None and not self._update.done:
            server = self._kubelet.api_server
            server.at(server.clock(), self._update.proceed, StepOrder.COMPLETION)

    def _delete(self) -> None:
        spec = self._churn.spec.delete
        assert spec is not None
        lives = [life for life in self._kubelet.lives.values() if life.ended is None and self._is_chosen(life)]
        path, number = self._churn.path, self._number
        lives.sort(key=lambda life: self._streams.keyed(path, f"choice {number}", life.pod.metadata.name))
        for life in lives[: spec.count or round(len(lives) * spec.share)]:
            self._kubelet.evict(life.pod, "churn")

    def _is_chosen(self, life: PodLife) -> bool:
        spec = self._churn.spec.delete
        assert spec is not None
        labels = life.pod.metadata.labels
        return (not spec.workload or life.workload == spec.workload) and all(
            labels.get(key) == value for key, value in spec.selector.items()
        )
