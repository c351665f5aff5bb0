"""`stowplan simulate` with a Scenario document: runs it over time and prints its metrics and expectations."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import print_plugin_bugs
from stowplan.cli.progress import Progress
from stowplan.cli.streams import STDIN, aligned, peek, read, shown
from stowplan.errors import InputError

if TYPE_CHECKING:
    from stowplan.runtime import Factory
    from stowplan.simulator.scenario import LoadedScenario
    from stowplan.study import RunResult

_SNIFFED_BYTES = 64 * 1024
_is_scenario = re.compile(
    rb"""(?:^|[{,])\s*["']?apiVersion["']?\s*:\s*["']?simulation\.stowplan/""", re.MULTILINE
).search
OUTPUTS = ("table", "wide", "json", "yaml", "html", "junit")


def is_scenario(names: Sequence[str], *, or_stdin: bool = False) -> bool:
    """Whether the only file, or standard input, is a Scenario document."""
    if len(names) != 1:
        return False
    is_readable = or_stdin if names[0] == STDIN else Path(names[0]).is_file()
    return is_readable and _is_scenario(peek(names[0], _SNIFFED_BYTES)) is not None


def load(file: str) -> LoadedScenario:
    """A checked scenario. Raises ConfigError with a line for each fault."""
    from stowplan.simulator.scenario import load_scenario
    from stowplan.study.expectation_checks import check_expectations

    scenario = load_scenario(shown(file), read(file))
    check_expectations(scenario)
    return scenario


def plugins_of(scenario: LoadedScenario, given: tuple[str, ...]) -> dict[str, Factory]:
    """The plugins of --plugin and of the scenario; files of the scenario are relative to its folder."""
    from stowplan.cli.plugins import load_plugins

    own = tuple(
        str(scenario.folder / each) if ".py" in each and not Path(each).is_absolute() else each
        for each in scenario.spec.plugins
    )
    return load_plugins((*own, *given))


def run_file(
    file: str,
    seed: int | None,
    config: str | None,
    plugins: tuple[str, ...],
    output: str,
    out: str,
    everything: bool,
    plots: tuple[str, ...] = (),
) -> None:
    """Run a scenario, print its result, and exit with the status of the result."""
    from stowplan.study import RunSettings, run_or_part
    from stowplan.study.files import results_folder

    if output not in OUTPUTS:
        raise click.UsageError(f"-o {output} cannot be used with a Scenario.")
    scenario = load(file)
    registered = plugins_of(scenario, plugins)
    charts = [_plot(each, scenario, out) for each in plots]
    if out:
        results_folder(out)
    with Progress() as progress:
        horizon = scenario.horizon.time
        progress.start("simulating", total=None if horizon == float("inf") else round(horizon))
        result, failure = run_or_part(
            scenario, seed, RunSettings(config, registered, on_progress=lambda now, _: progress.reach(int(now)))
        )
    try:
        if out:
            result.save(out)
        for name, chart in charts:
            result.plot(name, chart)
    finally:  # The metrics of a long run are not lost to a full disk.
        print_result(result, output, everything=everything)
    print_plugin_bugs(result.plugin_bugs)
    if failure is not None:
        raise failure
    click.get_current_context().exit(_status_of(result))


def _status_of(result: RunResult) -> ExitStatus:
    if result.plugin_bugs:
        return ExitStatus.PLUGIN_BUG
    if not result.holds:
        return ExitStatus.EXPECTATION_FAILED
    some_pending = not result.expectations and result.summary.get("pods.pending")
    return ExitStatus.PENDING if some_pending else ExitStatus.SUCCESS


def _plot(given: str, scenario: LoadedScenario, out: str) -> tuple[str, Path]:
    """The series and the file of a --plot option. Raises InputError if they cannot be used."""
    from stowplan.study.metric_names import MetricNames
    from stowplan.study.plots import check_plot_file

    name, equals, file = given.partition("=")
    if not (name and equals and file):
        raise click.UsageError(f"--plot {given}: expected METRIC=FILE.")
    if problem := MetricNames(scenario).series_problem(name):
        raise InputError(f"--plot: {problem}")
    check_plot_file(Path(file), Path(out) if out else None)
    return name, Path(file)


def print_result(result: RunResult, output: str, *, everything: bool) -> None:
    from stowplan.study import texts

    if output == "junit":
        click.echo(texts.junit([result]), nl=False)
    elif output == "html":
        from stowplan.study.html import result_page

        click.echo(result_page([result]), nl=False)
    elif output in ("json", "yaml"):
        import msgspec

        from stowplan.config import yaml_text
        from stowplan.study.files import run_document

        document = run_document(result)
        if output == "json":
            sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        else:
            click.echo(yaml_text.dump(document), nl=False)
    else:
        click.echo(texts.headline(result))
        click.echo("\n".join(aligned(texts.summary_rows(result, everything=everything or output == "wide"))))
        if groups := texts.group_rows(result):
            click.echo("\n" + "\n".join(aligned(groups)))
        if result.expectations:
            click.echo("\n" + "\n".join(texts.expectation_lines(result)))
