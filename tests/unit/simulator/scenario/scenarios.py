"""Scenarios for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stowplan.config import KubeSchedulerConfiguration, default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.kubelet import LifeObserver, PodLife
from stowplan.simulator.scenario import LoadedScenario, ScenarioSimulation, compile_scenario


def pod(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(cpu)["spec"]}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": template, **selector, **spec},
    }


def pool(name: str = "general", count: int = 1, cpu: str = "4", **fields: Any) -> dict[str, Any]:
    template = {"status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}}}
    return {"name": name, "count": count, "template": template, **fields}


def document(*workloads: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "simulation.stowplan/v1alpha1",
        "kind": "Scenario",
        "until": {"time": "1h"},
        "nodes": {"pools": [pool()]},
        "workloads": list(workloads),
        **fields,
    }


def load(*workloads: dict[str, Any], **fields: Any) -> LoadedScenario:
    return compile_scenario(document(*workloads, **fields), "scenario.yaml", Path())


class Diary(LifeObserver):
    """Notes what happens, with times since the start."""

    def __init__(self, start: float) -> None:
        self.lines: list[tuple[float, str, str]] = []
        self._start = start

    def _add(self, time: float | None, what: str, life: PodLife) -> None:
        assert time is not None
        self.lines.append((round(time - self._start, 3), what, life.pod.metadata.name))

    def pod_created(self, life: PodLife) -> None:
        self._add(life.created, "created", life)

    def pod_bound(self, life: PodLife) -> None:
        self._add(life.bound, "bound", life)

    def pod_running(self, life: PodLife) -> None:
        self._add(life.running, "running", life)

    def pod_ended(self, life: PodLife) -> None:
        self._add(life.ended, life.outcome, life)

    def of(self, *kinds: str) -> list[tuple[float, str, str]]:
        return [line for line in self.lines if line[1] in kinds]


def simulate(
    scenario: LoadedScenario, until: float = 1e9, seed: int = 0, config: KubeSchedulerConfiguration | None = None
) -> tuple[ScenarioSimulation, Diary]:
    diary = Diary(scenario.start)
    simulation = ScenarioSimulation(scenario, seed, config or default_configuration(), REGISTRY, lives=diary)
    simulation.run_until(until)
    return simulation, diary
