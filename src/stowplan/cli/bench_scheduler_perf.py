"""`stowplan bench scheduler-perf`: Kubernetes' own benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from stowplan.bench.cluster.workload import KUBE_SCHEDULER, OURS
from stowplan.bench.scheduler_perf import PerfReport, PerfRunner, PerfTurn, PerfWorkload, load_suite
from stowplan.bench.scheduler_perf.suite import select
from stowplan.cli.bench_options import gather, json_option
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned
from stowplan.errors import InputError

_HEADINGS = ("workload", "", "pods", "pods/s", "threshold", "overall/s", "cpu us", "rss MiB", "unschedulable", "others")
_SCHEDULERS = (KUBE_SCHEDULER, OURS)


@click.command("scheduler-perf", cls=Command)
@click.option(
    "--suite",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder test/integration/scheduler_perf of Kubernetes, or a folder in it.",
)
@click.option(
    "--workload",
    "names",
    multiple=True,
    metavar="NAME",
    help="Test case, or TESTCASE/WORKLOAD; may be given again. Default: all.",
)
@click.option(
    "--label", "labels", multiple=True, metavar="LABEL", help="Only workloads with the label; may be repeated."
)
@click.option(
    "--scheduler",
    "schedulers",
    type=click.Choice(_SCHEDULERS),
    multiple=True,
    help="Scheduler to run; may be given again. Default: both.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Only workloads of which one turn is expected to take no longer, see --list.",
)
@click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="List the workloads with the expected seconds of a turn, or why they cannot run, and exit.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append each result to this file as a line of JSON, and skip workloads whose result is in it.",
)
@json_option("workload")
def scheduler_perf(
    suite: Path,
    names: Sequence[str],
    labels: Sequence[str],
    schedulers: Sequence[str],
    max_seconds: float | None,
    list_only: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run workloads of Kubernetes' scheduler_perf suite for kube-scheduler and Stowplan by turns.

    The suite's files are read as they are; `go mod download k8s.io/kubernetes@v1.36.4` fetches them. Each turn has its
    own etcd and kube-apiserver; pods are created while the clock runs, as in the suite. Workloads with claims need
    kube-controller-manager (`python -m stowplan.testing build kube-controller-manager`). Workloads that need hooks
    inside the suite's process, or feature gates that are locked, are listed with the reason.

    \b
    pods/s          the suite's SchedulingThroughput: mean of one sample a second
    threshold       the suite's minimum, for its own machines
    overall/s       pods divided by the time of the measurement
    cpu us          CPU time of the scheduler process per measured pod
    unschedulable   attempts that found no node, in the whole run
    others          share of the machine's CPU time used by other processes

    \b
    Examples:
      stowplan bench scheduler-perf --suite DIR --list
      stowplan bench scheduler-perf --suite DIR --workload SchedulingBasic/500Nodes
      stowplan bench scheduler-perf --suite DIR --label performance --label short --json
      stowplan bench scheduler-perf --suite DIR --max-seconds 60 --output results.jsonl

    Exit status: 0 measured, 2 a binary is missing or does not start.
    """
    measured = _measured(output)
    workloads = [
        workload
        for workload in select(load_suite(suite), names, labels)
        if workload.name not in measured and (max_seconds is None or workload.expected_seconds <= max_seconds)
    ]
    if list_only:
        click.echo("\n".join(aligned([_listed(workload) for workload in workloads], left=(0, 2))))
        return
    progress = Progress(still=True)
    runner = PerfRunner(schedulers=tuple(schedulers) or _SCHEDULERS, progress=progress.write_line)
    gather(progress, _appended(runner.run(workloads), output), len(workloads), None if as_json else table)


def _listed(workload: PerfWorkload) -> tuple[str, str, str]:
    obstacle = workload.obstacle
    return (workload.name, "-" if obstacle else f"{workload.expected_seconds:.0f}", obstacle)


def _measured(output: Path | None) -> set[str]:
    """The workloads whose results are in the file."""
    if output is None or not output.exists():
        return set()
    try:
        return {msgspec.json.decode(line)["scenario"] for line in output.read_bytes().splitlines()}
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise InputError(f"{output}: not results of this command: {error}") from error


def _appended(reports: Iterable[PerfReport], output: Path | None) -> Iterator[PerfReport]:
    """The reports, each written to the file as soon as it is there."""
    for report in reports:
        if output is not None:
            with output.open("ab") as stream:
                stream.write(report.to_json() + b"\n")
        yield report


def table(reports: Iterable[PerfReport]) -> list[str]:
    """Reports in aligned columns, followed by ratios and obstacles."""
    rows: list[tuple[str, ...]] = [_HEADINGS]
    notes = []
    for report in reports:
        first = report.scenario
        for name, turn in report.turns.items():
            rows.append((first, name, *_cells(report, turn)))
            first = ""
            if turn.problem:
                notes.append(f"{report.scenario}: {name}: {turn.problem}")
        if ratios := report.ratios:
            shares = ", ".join(f"{field} {ratio:.2f}" for field, ratio in ratios.items())
            notes.append(f"{report.scenario}: of {KUBE_SCHEDULER}'s: {shares}")
        if report.obstacle:
            notes.append(f"{report.scenario}: not run: {report.obstacle}")
    return [*aligned(rows, left=(0, 1)), *notes]


def _cells(report: PerfReport, turn: PerfTurn) -> tuple[str, ...]:
    return (
        f"{turn.pods:,}",
        "-" if turn.throughput is None else f"{turn.throughput:,.0f}",
        f"{report.threshold:g}" if report.threshold else "-",
        f"{turn.per_second:,.0f}",
        f"{turn.cpu_us_per_pod:,.0f}",
        f"{turn.rss_mib:,.0f}",
        f"{turn.unschedulable_attempts:,}",
        f"{turn.others_cpu_share:.0%}",
    )
