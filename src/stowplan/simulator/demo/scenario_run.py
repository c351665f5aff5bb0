"""The scenario carried out: what is to happen is handed to the world, which does it in time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any, cast

from msgspec.structs import replace

from stowplan import api
from stowplan.config import default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.demo.recent_events import RecentEvents
from stowplan.simulator.demo.scenario import DemoScenario, Finish, Step, manifest_text
from stowplan.simulator.documents import Origin
from stowplan.simulator.load import populate
from stowplan.simulator.manifests import load
from stowplan.simulator.report import RunRecorder
from stowplan.simulator.simulation import EPOCH, Simulation

_SECONDS_TO_END = 1.0
"""How long a pod takes to leave its node."""


class ScenarioRun:
    """A simulated cluster to which the scenario happens."""

    def __init__(self, scenario: DemoScenario, nodes: int, seed: int) -> None:
        self.scenario = scenario
        self.recorder = RunRecorder()
        self.simulation = Simulation(
            default_configuration(), REGISTRY, seed=seed, observer=self.recorder, grace=_SECONDS_TO_END
        )
        self.recorder.attach(self.simulation.world)
        self.feed = RecentEvents()
        self._scale = nodes / scenario.nodes
        world, admission = self.simulation.world, self.simulation.controllers.admission
        made = [world.put(admission.admit(node)) for node in scenario.make_nodes(nodes)]
        for item in scenario.make_slices(made):
            world.put(admission.admit(item))
        for step in scenario.steps:
            for number in range(step.times):
                world.at(EPOCH + step.at + number * step.every, partial(self._do, step, number + 1))

    @property
    def elapsed(self) -> float:
        """Seconds of simulated time."""
        return self.simulation.clock.now - EPOCH

    def _do(self, step: Step, number: int) -> None:
        if number == 1:
            self.feed.announce(self.elapsed, step.say)
        if step.apply:
            self._apply(step.apply, number)
        if step.lift:
            self._lift(step.lift)
        if step.finish is not None:
            self._finish(step.finish)
        if step.lose:
            self._lose(max(1, round(step.lose * self._scale)))

    def _apply(self, name: str, number: int) -> None:
        manifests = load([name], lambda name: manifest_text(name, number))
        simulation = self.simulation
        populate(simulation.world, simulation.controllers, self._scaled(manifests.objects))

    def _scaled(self, objects: Iterable[tuple[Any, Origin]]) -> Iterable[tuple[Any, Origin]]:
        """The objects with as many pods as suit the size of the cluster."""
        for item, origin in objects:
            spec = getattr(item, "spec", None)
            wanted = {
                field: max(1, round(count * self._scale))
                for field in ("replicas", "parallelism", "completions")
                if (count := getattr(spec, field, None)) is not None
            }
            yield (replace(item, spec=replace(item.spec, **wanted)) if wanted else item), origin

    def _lift(self, gate: str) -> None:
        world = self.simulation.world
        for pod in list(world.all(api.Pod)):
            gates = tuple(each for each in pod.spec.scheduling_gates if each.name != gate)
            if gates != pod.spec.scheduling_gates:
                world.put(replace(pod, spec=replace(pod.spec, scheduling_gates=gates)))

    def _finish(self, finish: Finish) -> None:
        """The oldest objects of a kind come to their end, and their pods with them."""
        world, kind = self.simulation.world, cast("type[api.Job]", api.KINDS[finish.kind].struct)
        found = (item for item in world.all(kind) if item.metadata.namespace == finish.namespace)
        for item in list(islice(found, finish.first)):
            world.delete(item)

    def _lose(self, count: int) -> None:
        """Nodes fail, here and there."""
        world = self.simulation.world
        nodes = list(world.all(api.Node))
        for node in nodes[:: max(1, len(nodes) // count)][:count]:
            world.delete(node)
