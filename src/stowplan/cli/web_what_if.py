"""What-if for the page: the computation of `stowplan what-if` on a copy of a state."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from stowplan.cache import Cluster
from stowplan.cli.remote_scheduler import RemoteScheduler
from stowplan.cli.state import ClusterLogin, RunOptions, State, StateOptions, effective_release, open_state
from stowplan.cli.streams import STDIN
from stowplan.config import KubeSchedulerConfiguration
from stowplan.errors import InputError
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory
from stowplan.simulator.timeline import RunTimeline
from stowplan.simulator.what_if import parsing
from stowplan.simulator.what_if.answer import WhatIfQuestion, what_if_and_run
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.what_if.run import ClusterRun, Setup
from stowplan.simulator.what_if.serialized import raw_json
from stowplan.simulator.what_if.text import what_if_lines
from stowplan.simulator.what_if.workload_changes import ApplyManifests
from stowplan.web.columns import Times, copy_nodes
from stowplan.web.history import HistoryRing, SchedulingTotals
from stowplan.web.mirror import Mirror
from stowplan.web.source import StateSource
from stowplan.web.what_if import ChangeOption, RunMaps, WhatIfHost, WhatIfResult, WhatIfRuns
from stowplan.web.wire import NodeMap

_TEXT_WIDTH = 100
_NUMBER_OF_VALUES = {
    "add": 2, "drain": 1, "fail": 1, "cordon": 1, "uncordon": 1, "taint": 2, "label": 2, "set": 2, "scale": 1,
    "delete": 1, "weight": 1, "without": 1, "again": 1, "apply": 1,
}  # fmt: skip


class PastedManifests(ApplyManifests, frozen=True):
    """Manifests that were pasted into the page."""

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        super().apply(run, effects)
        return "with the pasted manifests applied"


def check_changes(changes: list[ChangeOption]) -> None:
    """Raises InputError for changes that are not valid."""
    for change in changes:
        _parsed(change)
    if sum(change.option == "apply" for change in changes) > 1:
        raise InputError("manifests are pasted once; separate them by ---")


def offer_what_if(source: StateSource, host: WhatIfHost) -> None:
    """Lets the page ask about changes of the state."""
    source.what_if = WhatIfRuns(host)
    source.shown.features += ["what-if", "compare"]


class StateWhatIf:
    """Answers about a state at rest, which is only read."""

    def __init__(self, state: State) -> None:
        self._state = state

    def check(self, changes: list[ChangeOption]) -> None:
        check_changes(changes)

    def command(self, changes: list[ChangeOption]) -> str:
        return what_if_command(self._state.source, changes)

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        state = self._state
        setup = Setup(state.config, {**REGISTRY, **state.plugins})
        run = ClusterRun(state.simulation, state.recorder, setup).copy()
        run.on_step = on_step
        question = WhatIfQuestion(tuple(_parsed(change) for change in changes), state.namespace)
        answer, maps = answer_and_maps(run, question)
        return WhatIfResult(answer.sentence, raw_json(answer), tuple(what_if_lines(answer, _TEXT_WIDTH)), maps)


class ClusterWhatIf:
    """Answers about a cluster, whose objects are read again for each question, as `stowplan what-if` reads them."""

    def __init__(
        self, source: StateOptions, config: KubeSchedulerConfiguration, plugins: Mapping[str, Factory]
    ) -> None:
        self._source = source
        self._config = config
        self._plugins = plugins

    def check(self, changes: list[ChangeOption]) -> None:
        check_changes(changes)

    def command(self, changes: list[ChangeOption]) -> str:
        return what_if_command(self._source, changes)

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        with open_state(self._source, self._config, self._plugins, options=RunOptions(always=True)) as state:
            return StateWhatIf(state).compute(changes, on_step)


class SchedulerWhatIf:
    """Answers about the cluster of a running scheduler, with the scheduler's configuration, in this process."""

    def __init__(self, remote: RemoteScheduler, login: ClusterLogin) -> None:
        self._remote = remote
        self._source = StateOptions((), login)

    def check(self, changes: list[ChangeOption]) -> None:
        check_changes(changes)

    def command(self, changes: list[ChangeOption]) -> str:
        return what_if_command(self._source, changes)

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        config = self._remote.configuration(effective_release(None, self._source))
        return ClusterWhatIf(self._source, config, {}).compute(changes, on_step)


def answer_and_maps(run: ClusterRun, question: WhatIfQuestion) -> tuple[WhatIfAnswer, RunMaps]:
    """The answer, and the nodes and pending pods without and with the changes, by attempts."""
    run.rest()
    engine, histories = run.simulation.engine, (HistoryRing("run"), HistoryRing("run"))
    before = map_of(engine.cluster)
    histories[0].add(0.0, engine.queue_counts(), SchedulingTotals(), {})
    timeline = RunTimeline(by_attempts=True)

    def begin(changed: ClusterRun) -> None:
        timeline.begin(changed.simulation)
        changed.recorder.timeline = timeline

    answer, changed = what_if_and_run(run, question, begin)
    timeline.fill(histories[1])
    first, second = (ring.since(-1.0) for ring in histories)
    after = map_of(changed.simulation.engine.cluster)
    return answer, RunMaps(before=before, after=after, histories=(first, second), unit=timeline.unit)


def map_of(cluster: Cluster) -> NodeMap:
    """The nodes of a cluster as the page shows them."""
    mirror = Mirror("run", lambda: Times(0.0))
    mirror.begin(copy_nodes(cluster))
    return mirror.map()


def what_if_command(source: StateOptions, changes: list[ChangeOption]) -> str:
    """The command line that asks the same; empty for a state that no command line reads, such as that of the demo."""
    if any(name != STDIN and not os.path.exists(name) for name in source.names):
        return ""
    words = ["stowplan", "what-if"]
    if source.cluster is not None:
        words.append("--from-cluster")
        for option, value in zip(("--kubeconfig", "--context"), source.cluster, strict=True):
            words += [option, value] if value else []
    elif source.snapshot:
        words += ["--from", source.snapshot]
    for name in source.names:
        words += ["-f", name]
    if source.input_options.namespace:
        words += ["-n", source.input_options.namespace]
    for change in changes:
        if change.option == "add":
            words += ["--add", change.value[0], "--like", change.value[1]]
        elif change.option == "apply":
            words += ["-f", STDIN]
        else:
            words += [f"--{change.option}", *change.value]
    return shlex.join(words)


def _parsed(change: ChangeOption) -> Any:
    """Raises InputError."""
    if len(change.value) != _NUMBER_OF_VALUES.get(change.option) or not all(change.value):
        raise InputError(f"{change.option}: not a change, or not the values of one")
    if change.option == "add":
        return parsing.nodes_like(parsing.number(change.value[0], "--add"), change.value[1])
    if change.option == "apply":
        content = change.value[0].encode()
        return PastedManifests(STDIN, lambda name: content)
    return parsing.change(change.option, change.value if len(change.value) > 1 else change.value[0])
