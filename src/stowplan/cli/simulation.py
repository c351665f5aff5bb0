"""Runs one simulation: from the command line's arguments to the report."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from stowplan.cli.progress import Progress
from stowplan.cli.streams import MAX_INPUT_BYTES, read
from stowplan.config import KubeSchedulerConfiguration
from stowplan.extender.client import HttpExtender, build_extenders
from stowplan.framework.extender import CallExtender
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory
from stowplan.simulator.input import Input, InputOptions, read_input
from stowplan.simulator.load import populate
from stowplan.simulator.report import RunRecorder, SimulationReport, report_of
from stowplan.simulator.report.changed_since_snapshot import states_before
from stowplan.simulator.report.recorder import Examine
from stowplan.simulator.simulation import EPOCH, Simulation
from stowplan.simulator.source_manifests import SourceManifests


class ClusterLogin(NamedTuple):
    """Kubeconfig and context of the cluster to read; empty values are resolved as kubectl does."""

    kubeconfig: str
    context: str


class SimulationQuestion(NamedTuple):
    """Input and options of one simulation."""

    names: tuple[str, ...]
    """Files, folders, and `-` for standard input."""
    cluster: ClusterLogin | None
    config: KubeSchedulerConfiguration
    plugins: Mapping[str, Factory]
    seed: int
    examine: Examine | None
    input_options: InputOptions = InputOptions()
    max_input_bytes: int = MAX_INPUT_BYTES
    """The allowed size of a file."""


def answer(
    question: SimulationQuestion, notes: list[str], progress: Progress
) -> tuple[SimulationReport, dict[str, str]]:
    """Runs the simulation. Returns the report, and the first bug of each plugin that has shown one. Appends messages
    for the user to `notes`, also if it raises."""
    with asyncio.Runner() as runner:
        extenders = build_extenders(question.config.extenders)
        try:
            return _answer(
                question, notes, progress, extenders, lambda request: runner.run(request.extender.call(request))
            )
        finally:
            for extender in extenders:
                runner.run(extender.close())


def _answer(
    question: SimulationQuestion,
    notes: list[str],
    progress: Progress,
    extenders: tuple[HttpExtender, ...],
    call_extender: Callable[[CallExtender], Any],
) -> tuple[SimulationReport, dict[str, str]]:
    needs_objects = bool(extenders) or any(getattr(each, "needs_objects", False) for each in question.plugins.values())
    found = None
    if question.cluster is not None:
        from stowplan.cli.live_cluster import read_cluster

        schedulers = [profile.scheduler_name for profile in question.config.profiles]
        found = read_cluster(*question.cluster, schedulers=schedulers, keep_objects=needs_objects, progress=progress)
        notes += found.notes
    progress.start("reading manifests")
    given = read_input(
        question.names,
        partial(read, max_bytes=question.max_input_bytes),
        None if found is None else found.live,
        question.input_options._replace(keep_documents=needs_objects),
    )
    recorder = RunRecorder(question.examine)
    simulation = Simulation(
        question.config,
        {**REGISTRY, **question.plugins},
        seed=question.seed,
        observer=recorder,
        keep_objects=needs_objects,
        start=EPOCH if found is None else time.time(),
        extenders=extenders,
        call_extender=call_extender,
    )
    recorder.attach(simulation.api_server)
    if needs_objects:
        documents = {**({} if found is None else found.documents), **given.documents}
        simulation.whole = SourceManifests(simulation.api_server, documents).whole
    _run(simulation, recorder, given, progress)
    notes += _notes(simulation, given)
    before = states_before((item for item, _ in given.objects), given.standing)
    bugs: dict[str, str] = {}
    for profile in simulation.engine.profiles.values():
        bugs |= profile.plugin_bugs()
    return report_of(simulation, recorder, given.unknown, before, given.assumptions), bugs


def _run(simulation: Simulation, recorder: RunRecorder, given: Input, progress: Progress) -> None:
    populate(simulation.api_server, simulation.controllers, given.objects, given.standing, given.assumed_owners)
    simulation.settle()
    progress.start("placing pods", total=len(simulation.engine.pending))
    simulation.run(lambda: progress.reach(recorder.bindings))


def _notes(simulation: Simulation, given: Input) -> list[str]:
    unknown = ", ".join(f"{count} {kind}" for kind, count in sorted(given.unknown.items()))
    return [*given.notes, *simulation.controllers.notes(), *([f"not simulated: {unknown}"] if unknown else [])]
