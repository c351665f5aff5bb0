"""`stowplan compare`: configurations on one scenario, with intervals over seeds."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from stowplan.cli.command import FileCommand
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import plugin_option, print_plugin_bugs
from stowplan.cli.progress import Progress
from stowplan.cli.scenario_run import load, plugins_of
from stowplan.cli.streams import aligned
from stowplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stowplan.framework.decision_record import DecisionRecord
    from stowplan.simulator.scenario import LoadedScenario
    from stowplan.study import RunResult, RunSettings
    from stowplan.study.compare import FailRule, RunComparison

_DEFAULT = "default"
_MAX_SHOWN_NODES = 5
_SEEDS = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
MAX_SEEDS = 10_000


@click.command(cls=FileCommand)
@click.argument("file", metavar="SCENARIO")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=FILE",
    help="A KubeSchedulerConfiguration file with a name, once for each configuration; NAME=default is the default one.",
)
@click.option(
    "--seeds", default="10", show_default=True, metavar="N|LIST", help="Number of seeds, or seeds such as 1,2,7-9."
)
@click.option("--baseline", default="", metavar="NAME", help="Configuration to compare with; default: the first.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="Metric to compare, such as jct.mean or 'wait.p95 workload=web'; may be given again. Default: the usual ones.",
)
@click.option(
    "--fail-if",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Exit with 5 if a configuration is worse than the baseline by more than this: 'wait.p95 worse 5%'.",
)
@click.option("--first-difference", is_flag=True, help="Print both decisions about the first pod placed elsewhere.")
@plugin_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "markdown", "latex", "html", "junit"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def compare(
    file: str,
    configs: tuple[str, ...],
    seeds: str,
    baseline: str,
    metrics: tuple[str, ...],
    rules: tuple[str, ...],
    first_difference: bool,
    plugins: tuple[str, ...],
    output: str,
) -> None:
    """Compare configurations on a scenario: the same arrivals, durations and failures for all, for each seed.

    Each difference is the mean over the seeds of the difference from the baseline, with an interval of 95 % by
    bootstrap over the seeds. It is 'same' if the interval contains 0; with more than two configurations Holm's
    correction is applied.

    \b
    Examples:
      Compare two configurations over ten seeds:
        stowplan compare scenario.yaml --config default=a.yaml --config packed=b.yaml
      Show why the first pod went elsewhere:
        stowplan compare scenario.yaml --config a=a.yaml --config b=b.yaml --seeds 1 --first-difference
      Fail a pipeline if waits become longer:
        stowplan compare scenario.yaml --config a=a.yaml --config b=b.yaml --seeds 3 --fail-if 'wait.p95 worse 5%'

    Exit status: 0 compared, 2 the input is invalid, 4 a plugin has a bug, 5 a rule of --fail-if does not hold.
    """
    from stowplan.study.compare import FailRule, check_baseline, compare_results
    from stowplan.study.metric_names import MetricNames

    scenario = load(file)
    named = _named(configs)
    numbers = parse_seeds(seeds)
    parsed = [FailRule.parse(rule) for rule in rules]
    known = MetricNames(scenario)
    known.check(metrics, "--metric")
    known.check([rule.metric for rule in parsed], "--fail-if")
    check_baseline(baseline or next(iter(named)), named)
    settings = _settings(scenario, named, plugins)
    results = _run(scenario, settings, numbers)
    comparison = compare_results(results, baseline or next(iter(named)), metrics, [rule.metric for rule in parsed])
    _print(comparison, parsed, output)
    if first_difference:
        _print_first_difference(scenario, comparison, settings)
    broken = [line for rule in parsed for line in rule.broken_by(comparison)]
    for line in broken:
        click.echo(f"stowplan: {line}", err=True)
    bugs = {name: bug for runs in results.values() for each in runs for name, bug in each.plugin_bugs.items()}
    print_plugin_bugs(bugs)
    if bugs or broken:
        click.get_current_context().exit(ExitStatus.PLUGIN_BUG if bugs else ExitStatus.EXPECTATION_FAILED)


def _named(configs: tuple[str, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for each in configs:
        name, equals, file = each.partition("=")
        if not equals or not name or not file:
            raise click.UsageError(f"--config {each}: expected NAME=FILE.")
        if name in found:
            raise click.UsageError(f"--config {each}: the name is given twice.")
        found[name] = None if file == _DEFAULT else file
    if len(found) < 2:
        raise click.UsageError("At least two configurations are needed: --config NAME=FILE.")
    return found


def parse_seeds(text: str) -> list[int]:
    """Seeds of a number, or of a list with ranges."""
    ranges = []
    for part in [f"1-{text}"] if text.isdecimal() else text.split(","):
        found = _SEEDS.fullmatch(part)
        if found is None:
            raise InputError(f"--seeds {text}: expected a number, or seeds such as 1,2,7-9")
        ranges.append(range(int(found[1]), int(found[2] or found[1]) + 1))
    if not 1 <= sum(map(len, ranges)) <= MAX_SEEDS:
        raise InputError(f"--seeds {text}: from 1 to {MAX_SEEDS:,} seeds can be compared")
    seeds = [seed for each in ranges for seed in each]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds {text}: seeds must differ")
    return seeds


def _settings(
    scenario: LoadedScenario, named: dict[str, str | None], plugins: tuple[str, ...]
) -> dict[str, RunSettings]:
    from stowplan.config import default_configuration
    from stowplan.study import RunSettings
    from stowplan.study.run import load_config

    registered = plugins_of(scenario, plugins)
    found = {}
    for name, file in named.items():
        settings = RunSettings(file or default_configuration(), registered)
        load_config(scenario, settings)  # All configurations are checked before the first run.
        found[name] = settings
    return found


def _run(scenario: LoadedScenario, settings: Mapping[str, RunSettings], seeds: list[int]) -> dict[str, list[RunResult]]:
    from stowplan.study import run

    results: dict[str, list[RunResult]] = {name: [] for name in settings}
    done = 0
    with Progress() as progress:
        progress.start("simulating", total=len(seeds) * len(settings))
        for seed in seeds:
            for name, each in settings.items():
                results[name].append(run(scenario, seed, each))
                done += 1
                progress.reach(done)
    return results


def _print(comparison: RunComparison, rules: list[FailRule], output: str) -> None:
    from stowplan.study import compare_texts

    if output == "json":
        import msgspec

        from stowplan.study.compare import as_document

        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(as_document(comparison)), indent=2) + b"\n")
    elif output == "junit":
        click.echo(compare_texts.junit(comparison, rules), nl=False)
    elif output != "table":
        click.echo(getattr(compare_texts, output)(comparison), nl=False)
    else:
        rows = compare_texts.comparison_rows(comparison)
        verdicts = range(len(comparison.variants) + 2, len(rows[0]) + 1, 2)
        click.echo("\n".join(line.rstrip() for line in aligned(rows, left=(0, *verdicts))))
        click.echo("\n".join(compare_texts.placement_lines(comparison)))


def _print_first_difference(
    scenario: LoadedScenario, comparison: RunComparison, settings: Mapping[str, RunSettings]
) -> None:
    """Both decisions about the first pod that one configuration places elsewhere."""
    for placement in comparison.placements:
        if placement.first is None:
            continue
        first = placement.first
        click.echo(f"\nPod {first.pod}, seed {first.seed}:")
        for name in (comparison.baseline, placement.variant):
            record = decision_of(scenario, settings[name], first.seed, first.pod, first.time)
            click.echo("\n".join(_record_lines(name, record, first.nodes)))


def decision_of(
    scenario: LoadedScenario, settings: RunSettings, seed: int, pod: str, time: float
) -> DecisionRecord | None:
    """The decision about a pod, by running the scenario again up to its binding."""
    from dataclasses import replace

    from stowplan.study.run import LiveRun

    live = LiveRun(scenario, seed, replace(settings, watched_pod=pod))
    while not live.recording.records or not live.recording.records[-1].node:
        if live.simulation.finished:
            return None
        live.run_until(max(time, live.simulation.now + 1))
        time = live.simulation.now
    return live.recording.records[-1]


def _record_lines(name: str, record: DecisionRecord | None, nodes: tuple[str, ...]) -> list[str]:
    if record is None:
        return [f"  {name}: not placed"]
    lines = [f"  {name}: {record.node}, {len(record.feasible)} of {record.nodes} nodes feasible"]
    best = sorted(record.totals, key=lambda node: -record.totals[node])[:_MAX_SHOWN_NODES]
    shown = list(dict.fromkeys([record.node, *best, *(node for node in nodes if node in record.totals)]))
    plugins = sorted({plugin for node in shown for plugin in record.scores.get(node, {})})
    rows = [["NODE", "TOTAL", *plugins]]
    for node in shown:
        scores = record.scores.get(node, {})
        cells = [str(scores[plugin].weighted) if plugin in scores else "-" for plugin in plugins]
        rows.append([node, str(record.totals.get(node, "-")), *cells])
    return [*lines, *(f"    {line}" for line in aligned(rows))]
