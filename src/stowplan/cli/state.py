"""The state that a command answers about: manifests, a cluster, a snapshot, or a running scheduler.

`open_state` is the one way to it. Manifests are simulated until nothing changes any more; a cluster and a snapshot
without manifests are taken as they are, with their pending pods in the queue and not tried.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from stowplan import api
from stowplan._version import __version__
from stowplan.cli.live_cluster import LiveCluster, anonymized_cluster, cluster_release, read_cluster, read_snapshot
from stowplan.cli.progress import Progress
from stowplan.cli.streams import MAX_INPUT_BYTES, STDIN, peek, read
from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.releases import LATEST, Release
from stowplan.errors import InputError
from stowplan.extender.client import HttpExtender, build_extenders
from stowplan.framework.explanation import AsOf
from stowplan.framework.plugin import need_objects
from stowplan.insight.insight import Insight
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.clock import EPOCH
from stowplan.simulator.custom_workload import CustomWorkload
from stowplan.simulator.group_gates import with_group_gates
from stowplan.simulator.identity import timestamp
from stowplan.simulator.input import SIMULATED, Input, InputOptions, read_input
from stowplan.simulator.input.snapshot_file import HEADER_BYTES, is_snapshot, recorded_release
from stowplan.simulator.load import populate
from stowplan.simulator.not_created import not_created_pods
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.report.recorder import Examine, RunRecorder
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.source_manifests import SourceManifests
from stowplan.simulator.timeline import RunTimeline

_SNIFFED_BYTES = 64


class ClusterLogin(NamedTuple):
    """Kubeconfig and context of the cluster to read; empty values are resolved as kubectl does."""

    kubeconfig: str
    context: str


class StateOptions(NamedTuple):
    """Where the state comes from. Manifests are applied to a cluster or snapshot if there is one."""

    names: tuple[str, ...] = ()
    """Manifests: files, folders, and `-` for standard input; later ones are overlays of earlier ones."""
    cluster: ClusterLogin | None = None
    snapshot: str = ""
    """A snapshot file; the first of `names` may be one as well."""
    input_options: InputOptions = InputOptions()
    max_input_bytes: int = MAX_INPUT_BYTES
    """The allowed size of a file."""
    anonymize: bool = False
    """Replace the names of the cluster or snapshot."""
    default_config: bool = True
    """Whether the configuration is the default one, for `AsOf.by`."""


@dataclass
class State:
    """A state with everything that answers about it need."""

    source: StateOptions
    insight: Insight
    simulation: Simulation
    """At rest: of manifests, nothing changes any more; of a cluster or snapshot, nothing has been tried."""
    recorder: RunRecorder
    """The attempts of the simulation."""
    given: Input
    """The objects that the simulation was populated with, before it ran."""
    live: LiveCluster | None
    """The cluster or snapshot, if the source has one."""
    namespace: str
    """Of references without one: that of --namespace, else of the kubeconfig's context, else `default`."""
    config: KubeSchedulerConfiguration
    plugins: Mapping[str, Factory]
    ran: bool
    """Whether pods were tried."""
    as_of: AsOf
    notes: list[str]
    """Messages for the user, one line each."""

    @property
    def objects(self) -> list[Any]:
        """The objects that the simulation was populated with."""
        return [item for item, _ in self.given.objects]

    def current_objects(self) -> list[Any]:
        """The objects as they are: of a cluster or snapshot without manifests all that was read, else those of the
        simulated API server."""
        if self.live is not None and not self.ran:
            return self.live.live.items
        server = self.simulation.api_server
        structs: list[type[Any]] = [*(kind.struct for kind in SIMULATED.values()), CustomWorkload]
        return [item for struct in structs for item in server.all(struct)]

    def plugin_bugs(self) -> dict[str, str]:
        """The first bug of each plugin that has shown one."""
        return self.simulation.engine.plugin_bugs()


class RunOptions(NamedTuple):
    """How the simulation of a state runs."""

    seed: int = 0
    examine: Examine | None = None
    """Examines each decision for the recorder."""
    always: bool = False
    """Also try the pending pods of a cluster or snapshot without manifests."""
    watch: Callable[[Simulation, RunRecorder], object] | None = None
    """Shows the run, and may end it early."""
    timeline: RunTimeline | None = None
    """Records the run over time."""
    to_the_end: bool = True
    """Whether the run goes on to its end if `watch` returns early."""
    fixed_gates: bool = False
    """Whether gates that PodGroups need stay off."""


@contextmanager
def open_state(
    source: StateOptions,
    config: KubeSchedulerConfiguration,
    plugins: Mapping[str, Factory],
    *,
    notes: list[str] | None = None,
    progress: Progress | None = None,
    options: RunOptions | None = None,
) -> Iterator[State]:
    """The state of a source. Appends messages for the user to `notes`, also if it raises.

    Extenders of the configuration are called over HTTP until the context ends, except for bind.
    """
    notes = [] if notes is None else notes
    with asyncio.Runner() as runner:
        extenders = build_extenders(config.extenders)
        try:
            loader = _Loader(
                _with_snapshot(source), config, plugins, notes, progress or Progress(), options or RunOptions()
            )
            yield loader.load(extenders, runner)
        finally:
            for extender in extenders:
                runner.run(extender.close())


class _Loader:
    """Reads a source and runs its simulation."""

    def __init__(
        self,
        source: StateOptions,
        config: KubeSchedulerConfiguration,
        plugins: Mapping[str, Factory],
        notes: list[str],
        progress: Progress,
        options: RunOptions,
    ) -> None:
        self._source = source
        self._config = config
        self._plugins = plugins
        self._notes = notes
        self._progress = progress
        self._options = options

    def load(self, extenders: tuple[HttpExtender, ...], runner: asyncio.Runner) -> State:
        source, recorder = self._source, RunRecorder(self._options.examine, self._options.timeline)
        keep = bool(extenders) or need_objects(self._plugins.values())
        found = self._live(keep)
        self._progress.start("reading manifests")
        given = read_input(
            source.names,
            partial(read, max_bytes=source.max_input_bytes),
            None if found is None else found.live,
            source.input_options._replace(keep_documents=keep),
        )
        if not self._options.fixed_gates:
            self._config = with_group_gates(self._config, (item for item, _ in given.objects))
        simulation = Simulation(
            self._config,
            {**REGISTRY, **self._plugins},
            seed=self._options.seed,
            observer=recorder,
            keep_objects=keep,
            start=EPOCH if found is None else found.taken_at,
            extenders=extenders,
            call_extender=lambda request: runner.run(request.extender.call(request)),
        )
        if keep:
            documents = {**({} if found is None else found.documents), **given.documents}
            simulation.whole = SourceManifests(simulation.api_server, documents).whole
        recorder.attach(simulation.api_server)
        self._run(simulation, recorder, given)
        self._notes += _notes(simulation, given)
        return State(
            source,
            Insight(
                simulation.engine,
                simulation.clock,
                other_pods=lambda: _pods(simulation, given),
                not_created=partial(not_created_pods, simulation) if self._runs else None,
            ),
            simulation,
            recorder,
            given,
            found,
            source.input_options.namespace or (DEFAULT_NAMESPACE if found is None else found.live.namespace),
            self._config,
            self._plugins,
            self._runs,
            self._as_of(found),
            self._notes,
        )

    def _live(self, keep_objects: bool) -> LiveCluster | None:
        """The objects of the cluster or snapshot, if the source has one."""
        source, progress = self._source, self._progress
        schedulers = [profile.scheduler_name for profile in self._config.profiles]
        if source.cluster is not None:
            found = read_cluster(*source.cluster, schedulers=schedulers, keep_objects=keep_objects, progress=progress)
        elif source.snapshot:
            found = read_snapshot(
                source.snapshot, schedulers=schedulers, max_bytes=source.max_input_bytes, progress=progress
            )
        else:
            found = None
        if source.anonymize and (found is None or source.names):
            raise InputError("--anonymize needs --from or --from-cluster, without manifests")
        if found is None:
            return None
        self._notes += found.notes
        return anonymized_cluster(found, schedulers) if source.anonymize else found

    def _run(self, simulation: Simulation, recorder: RunRecorder, given: Input) -> None:
        populate(simulation.api_server, simulation.controllers, given.objects, given.preexisting, given.assumed_owners)
        simulation.settle()
        if not self._runs:
            return
        if self._options.timeline is not None:
            self._options.timeline.begin(simulation)
        if self._options.watch is not None:
            self._progress.hide()
            self._options.watch(simulation, recorder)
            if not self._options.to_the_end:
                return
        self._progress.start("placing pods", total=len(simulation.engine.pending))
        simulation.run(lambda: self._progress.reach(recorder.bindings))

    @property
    def _runs(self) -> bool:
        return bool(self._source.names) or self._options.always

    def _as_of(self, found: LiveCluster | None) -> AsOf:
        configuration = "default configuration" if self._source.default_config else "configuration of --config"
        return AsOf(
            time="" if found is None else timestamp(int(found.taken_at)),
            by=f"stowplan {__version__}, {configuration}",
            source="manifests" if found is None else found.name,
        )


def effective_release(given: Release | None, source: StateOptions) -> Release:
    """The given release; else that of the cluster or snapshot of the source; else the latest."""
    if given is not None:
        return given
    if source.cluster is not None:
        return cluster_release(*source.cluster)
    snapshot = _with_snapshot(source).snapshot
    return recorded_release(peek(snapshot, HEADER_BYTES)) if snapshot else LATEST


def _with_snapshot(source: StateOptions) -> StateOptions:
    """The source, with a snapshot that is the first of its manifests as its snapshot."""
    first = source.names[0] if source.names else STDIN
    if source.cluster is not None or source.snapshot or first == STDIN or not os.path.isfile(first):
        return source
    found = is_snapshot(peek(first, _SNIFFED_BYTES))
    return source._replace(names=source.names[1:], snapshot=first) if found else source


def _pods(simulation: Simulation, given: Input) -> Iterator[api.Pod]:
    """All pods of the simulation, and the finished ones of the input, which it leaves out."""
    yield from simulation.api_server.all(api.Pod)
    for item, _ in given.objects:
        if isinstance(item, api.Pod) and is_finished(item):
            yield item


def _notes(simulation: Simulation, given: Input) -> list[str]:
    unknown = ", ".join(f"{count} {kind}" for kind, count in sorted(given.unknown.items()))
    return [*given.notes, *simulation.controllers.notes(), *([f"not simulated: {unknown}"] if unknown else [])]
