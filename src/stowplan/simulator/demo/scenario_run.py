"""Execution of a scenario: its steps are scheduled on the simulated API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, cast

from msgspec.structs import replace

from stowplan import api
from stowplan.config import KubeSchedulerConfiguration, default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Registry
from stowplan.simulator.clock import EPOCH
from stowplan.simulator.demo.scenario import DemoScenario, Finish, ScenarioStep, manifest_text
from stowplan.simulator.input import InputOptions, Origin, read_input
from stowplan.simulator.load import populate
from stowplan.simulator.report import RunRecorder
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.watch import WatchedRun

_GRACE_SECONDS = 1.0
"""Time that a pod takes to terminate."""


class ScenarioRun(WatchedRun):
    """A simulated cluster that runs a scenario; the speed is in simulated seconds per second."""

    title = "stowplan demo"
    speed_text = "{:g}x"

    def __init__(
        self,
        scenario: DemoScenario,
        nodes: int,
        seed: int,
        config: KubeSchedulerConfiguration | None = None,
        registry: Registry = REGISTRY,
    ) -> None:
        self.scenario = scenario
        recorder = RunRecorder()
        simulation = Simulation(
            config or default_configuration(), registry, seed=seed, observer=recorder, grace=_GRACE_SECONDS
        )
        super().__init__(simulation, recorder)
        recorder.attach(simulation.api_server)
        self.on_step: Callable[[str], None] = lambda text: None
        """Called with the text of each step of the scenario."""
        self._until = EPOCH
        self._scale = nodes / scenario.nodes
        api_server, admission = self.simulation.api_server, self.simulation.controllers.admission
        made = [api_server.put(admission.admit(node)) for node in scenario.make_nodes(nodes)]
        for item in scenario.make_slices(made):
            api_server.put(admission.admit(item))
        for step in scenario.steps:
            for number in range(step.times):
                api_server.at(EPOCH + step.at + number * step.every, partial(self._do, step, number + 1))

    @property
    def finished(self) -> bool:
        return self.elapsed >= self.scenario.seconds

    def proceed(self, amount: float, expired: Callable[[], bool]) -> None:
        simulation = self.simulation
        self._until = min(max(self._until + amount, simulation.clock.now), EPOCH + self.scenario.seconds)
        while not expired():
            if not simulation.step() and not simulation.advance(self._until):
                simulation.clock.now = max(simulation.clock.now, self._until)
                break

    def step(self) -> None:
        end = EPOCH + self.scenario.seconds
        while not self.simulation.step():
            if not self.simulation.advance(end):
                self.simulation.clock.now = end
                return

    def _do(self, step: ScenarioStep, number: int) -> None:
        if number == 1:
            self.events.announce(self.elapsed, step.say)
            self.on_step(step.say)
        if step.apply:
            self._apply(step.apply, number)
        if step.lift:
            self._lift(step.lift)
        if step.finish is not None:
            self._finish(step.finish)
        if step.lose:
            self._lose(max(1, round(step.lose * self._scale)))

    def _apply(self, name: str, number: int) -> None:
        manifests = read_input([name], lambda name: manifest_text(name, number), options=InputOptions(fragment=True))
        simulation = self.simulation
        populate(simulation.api_server, simulation.controllers, self._scaled(manifests.objects))

    def _scaled(self, objects: Iterable[tuple[Any, Origin]]) -> Iterable[tuple[Any, Origin]]:
        """The objects with numbers of pods scaled to the size of the cluster."""
        for item, origin in objects:
            spec = getattr(item, "spec", None)
            wanted = {
                field: max(1, round(count * self._scale))
                for field in ("replicas", "parallelism", "completions")
                if (count := getattr(spec, field, None)) is not None
            }
            yield (replace(item, spec=replace(item.spec, **wanted)) if wanted else item), origin

    def _lift(self, gate: str) -> None:
        api_server = self.simulation.api_server
        for pod in list(api_server.all(api.Pod)):
            gates = tuple(each for each in pod.spec.scheduling_gates if each.name != gate)
            if gates != pod.spec.scheduling_gates:
                api_server.put(replace(pod, spec=replace(pod.spec, scheduling_gates=gates)))

    def _finish(self, finish: Finish) -> None:
        """Delete the oldest objects of a kind, and with them their pods."""
        api_server, kind = self.simulation.api_server, cast("type[api.Job]", api.KINDS[finish.kind].struct)
        found = (item for item in api_server.all(kind) if item.metadata.namespace == finish.namespace)
        for item in list(islice(found, finish.first)):
            api_server.delete(item)

    def _lose(self, count: int) -> None:
        """Delete nodes, evenly distributed."""
        api_server = self.simulation.api_server
        nodes = list(api_server.all(api.Node))
        for node in nodes[:: max(1, len(nodes) // count)][:count]:
            api_server.delete(node)
