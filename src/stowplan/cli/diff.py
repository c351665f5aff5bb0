"""`stowplan diff`: the difference between two configurations, plugin versions, or recorded runs."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from stowplan.cli.command import Command
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import print_plugin_bugs
from stowplan.cli.state_options import StateRequest, state_options
from stowplan.errors import InputError

if TYPE_CHECKING:
    from stowplan.simulator.timeline import RunTimeline
    from stowplan.simulator.what_if.diff import ComparedRun
    from stowplan.simulator.what_if.records import DiffAnswer
    from stowplan.web.wire import History

_DEFAULT = "default"
_PLUGIN = re.compile(r".*\.py(:\w+)?|[\w.]+:\w+")
_CONFIGURATION = re.compile(rb"kind[\"']?\s*:\s*[\"']?(KubeSchedulerConfiguration|Policy)\b")


@click.command(cls=Command)
@click.argument("before")
@click.argument("after")
@state_options
@click.option("--again", default="", metavar="NAMESPACE|WORKLOAD|all", help="Place running pods again in both runs.")
@click.option("--by", default="", metavar="LABEL", help="Show use by this label of nodes; default the zone.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for ties between nodes.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if a pod is elsewhere or waits in one run only.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "wide", "json", "yaml", "html"]),
    default="text",
    show_default=True,
    help="Output format; 'wide' lists pods; 'html' is one file with both maps side by side.",
)
@click.option("--all", "everything", is_flag=True, help="List every pod and workload.")
def diff(
    before: str,
    after: str,
    request: StateRequest,
    again: str,
    by: str,
    seed: int,
    exit_code: bool,
    output: str,
    everything: bool,
) -> None:
    """Compare two runs: who moves, who waits now, and what changes in scores and use.

    BEFORE and AFTER are each a KubeSchedulerConfiguration file, 'default' for the default configuration, a plugin
    (./file.py, ./file.py:Class or package.module:Class), or a recorded run: the output of 'simulate -o json', a
    decision log or recording of an extender, a snapshot, or pods as 'kubectl get pods -A -o json' prints them.

    Configurations and plugins are run on the state that the options name; --config and --plugin hold for both.

    \b
    Examples:
      stowplan diff default scheduler.yaml -f cluster.yaml
      stowplan diff ./v1/plugin.py ./v2/plugin.py -f cluster.yaml
      stowplan diff before.json after.json
      stowplan diff cluster.json.gz default --from cluster.json.gz --again all

    Exit status: 0, with --exit-code 1 if the runs differ, 2 the input is invalid, 4 a plugin has a bug.
    """
    from rich.console import Console

    from stowplan.simulator.what_if.diff import diff as difference
    from stowplan.simulator.what_if.diff_text import diff_lines
    from stowplan.simulator.what_if.serialized import to_json, to_yaml

    if before == after == "-" or ("-" in request.names and "-" in (before, after)):
        raise click.UsageError("Standard input can be read once.")
    sides = [_Side(name, request, again, by, seed) for name in (before, after)]
    runs = [side.run() for side in sides]
    answer = difference(*runs)
    if output in ("json", "yaml"):
        sys.stdout.buffer.write((to_json if output == "json" else to_yaml)(answer))
    elif output == "html":
        _print_report(runs[0], runs[1], answer, [side.timeline for side in sides])
    else:
        console = Console()
        width = console.width if console.is_terminal else None
        for line in diff_lines(answer, width, wide=output == "wide", everything=everything):
            click.echo(line)
    bugs = {name: bug for each in runs for name, bug in each.plugin_bugs.items()}
    print_plugin_bugs(bugs)
    differs = bool(answer.moved or answer.now_placed or answer.now_waiting or answer.only_after or answer.only_before)
    status = ExitStatus.CHECK_FAILED if exit_code and differs else ExitStatus.SUCCESS
    click.get_current_context().exit(ExitStatus.PLUGIN_BUG if bugs else status)


def _print_report(
    before: ComparedRun, after: ComparedRun, answer: DiffAnswer, timelines: list[RunTimeline | None]
) -> None:
    from stowplan.cli.report import print_comparison
    from stowplan.cli.web_what_if import map_of
    from stowplan.simulator.what_if.diff_text import diff_lines
    from stowplan.web.what_if import ComparedRuns, RunMaps

    maps = [None if run.cluster is None else map_of(run.cluster) for run in (before, after)]
    compared = ComparedRuns(
        id="1",
        kind="diff",
        state="done",
        command="",
        before=before.name,
        after=after.name,
        sentence=answer.sentence,
        answer=answer,
        text=tuple(diff_lines(answer, None, wide=True, everything=False)),
    )
    histories = [_history(timeline) for timeline in timelines if timeline is not None]
    both = (histories[0], histories[1]) if len(histories) == len(maps) else None
    print_comparison(compared, RunMaps(before=maps[0], after=maps[1], histories=both, unit="attempts"))


def _history(timeline: RunTimeline) -> History:
    from stowplan.web.history import HistoryRing

    ring = HistoryRing("report")
    timeline.fill(ring)
    return ring.since(-1.0)


class _Side:
    """One of the two runs."""

    def __init__(self, name: str, request: StateRequest, again: str, by: str, seed: int) -> None:
        self._name = name
        self._request = request
        self._again = again
        self._by = by
        self._seed = seed
        self.timeline: RunTimeline | None = None
        """The run over time, if it is simulated."""

    def run(self) -> ComparedRun:
        from stowplan.cli.streams import read
        from stowplan.simulator.what_if.diff import recorded
        from stowplan.simulator.what_if.recorded_run import read_run

        if self._name == _DEFAULT and not os.path.exists(_DEFAULT):
            return self._simulated(self._request, "default configuration")
        if _PLUGIN.fullmatch(self._name):
            plugins = (*self._request.plugins, self._name)
            return self._simulated(self._request._replace(plugins=plugins), f"plugin {self._name}")
        content = _uncompressed(self._name, read(self._name))
        if _CONFIGURATION.search(content):
            return self._simulated(self._request._replace(config_file=self._name), f"configuration {self._name}")
        return recorded(read_run(self._name, content))

    def _simulated(self, request: StateRequest, name: str) -> ComparedRun:
        from stowplan.cli.state import RunOptions
        from stowplan.plugins.registry import REGISTRY
        from stowplan.simulator.report.detailed_decisions import top_scores
        from stowplan.simulator.timeline import RunTimeline
        from stowplan.simulator.what_if.answer import compared_run
        from stowplan.simulator.what_if.run import ClusterRun, Setup

        timeline = None if self._again else RunTimeline(by_attempts=True)
        options = RunOptions(seed=self._seed, examine=top_scores, always=True, timeline=timeline)
        self.timeline = timeline
        with request.open(options) as state:
            run = ClusterRun(state.simulation, state.recorder, Setup(state.config, {**REGISTRY, **state.plugins}))
            return compared_run(run, name, self._again, state.namespace, self._by)


def _uncompressed(name: str, content: bytes) -> bytes:
    from stowplan.cli.streams import MAX_INPUT_BYTES
    from stowplan.simulator.input.snapshot_file import decompressed

    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return decompressed(content, MAX_INPUT_BYTES)
    except InputError as problem:
        raise InputError(f"{name}: {problem}") from None
