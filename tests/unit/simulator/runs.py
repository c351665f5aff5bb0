"""Whole simulations for tests: objects in, a report out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.builders import make

from stowplan.config import default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere
from stowplan.simulator.group_gates import with_group_gates
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.load import populate
from stowplan.simulator.report import RunRecorder, SimulationReport, report_of
from stowplan.simulator.report.recorder import Examine
from stowplan.simulator.simulation import Simulation


def asking(cpu: str) -> dict[str, Any]:
    """The fields of a pod's spec that ask for so much CPU."""
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}


class Run:
    """A simulation that has come to rest."""

    def __init__(
        self, *items: Any, examine: Examine | None = None, plugins: Mapping[str, Factory] | None = None
    ) -> None:
        plugins = plugins or {}
        self.recorder = RunRecorder(examine)
        config = with_group_gates(enable_everywhere(default_configuration(), plugins), items)
        self.simulation = Simulation(config, {**REGISTRY, **plugins}, observer=self.recorder)
        self.recorder.attach(self.simulation.api_server)
        objects = [(item, Origin(f"{index}.yaml")) for index, item in enumerate(items)]
        populate(self.simulation.api_server, self.simulation.controllers, objects)
        self.simulation.run()

    def report(self) -> SimulationReport:
        return report_of(self.simulation, self.recorder, {"Ingress": 1, "ConfigMap": 2})

    def story(self, name: str) -> Any:
        """What is remembered of a pod in the namespace default."""
        (uid,) = (
            pod.metadata.uid
            for pod in self.simulation.api_server.all(type(make("Pod", name)))
            if pod.metadata.name == name
        )
        return self.recorder.last_attempts[uid]
