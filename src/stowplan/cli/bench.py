"""`stowplan bench`: measures decisions, scheduling on a real API server, and extenders."""

from collections.abc import Iterable, Sequence

import click

from stowplan.bench import NAMES, Result, Runner, load_scenario
from stowplan.cli.bench_options import fail_for, gather, json_option, names_option, seed_option, size_option
from stowplan.cli.command import CommandEntry, LazyGroup
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned

_HEADINGS = (
    "scenario",
    "nodes",
    "pods",
    "pods/s",
    "scaled",
    "floor",
    "cpu us",
    "p50 us",
    "p99 us",
    "rss MiB",
    "agreed",
)


_SUBCOMMANDS = {
    "cluster": CommandEntry(
        "stowplan.cli.bench_cluster",
        "cluster",
        "Measure Stowplan and kube-scheduler by turns on a real API server.",
    ),
    "extender": CommandEntry(
        "stowplan.cli.bench_extender",
        "extender",
        "Measure Stowplan's extender and one in Go by turns.",
    ),
    "groups": CommandEntry(
        "stowplan.cli.bench_groups",
        "groups",
        "Measure decisions about pod groups in this process.",
    ),
    "latency": CommandEntry(
        "stowplan.cli.bench_latency",
        "latency",
        "Measure the time from creation to binding of pods that arrive at constant rates, beside kube-scheduler.",
    ),
    "openb": CommandEntry(
        "stowplan.cli.bench_openb",
        "openb",
        "Repeat the published comparison of GPU policies on the openb trace.",
    ),
    "overload": CommandEntry(
        "stowplan.cli.bench_overload",
        "overload",
        "Measure a full cluster with many more pods than fit, beside kube-scheduler.",
    ),
    "scheduler-perf": CommandEntry(
        "stowplan.cli.bench_scheduler_perf",
        "scheduler_perf",
        "Run Kubernetes' scheduler_perf suite for Stowplan and kube-scheduler by turns.",
    ),
    "sizes": CommandEntry(
        "stowplan.cli.bench_sizes",
        "sizes",
        "Measure the start in a large cluster, in front of a stand-in of the API server.",
    ),
}
"""Imported on demand: they need dependencies that not every installation has."""


@click.group(cls=LazyGroup, entries=_SUBCOMMANDS)
def bench() -> None:
    """Measure scheduling decisions, scheduling on a real API server, and extenders.

    Compare rates of the same run only: machines differ, and the speed of one machine drifts. Scaled rates are
    normalized to a machine that takes one second for a loop of ten million additions, timed before and after.

    \b
    Examples:
      stowplan bench decisions
      stowplan bench cluster --workload basic
    """


@bench.command()
@size_option("--nodes", "Nodes in the cluster", "scenario")
@size_option("--pods", "Pods to decide", "scenario")
@names_option("scenario", NAMES)
@seed_option("Seed for ties between nodes and for the sample that is checked.")
@json_option("scenario")
def decisions(nodes: int | None, pods: int | None, names: Sequence[str], seed: int, as_json: bool) -> None:
    """Measure decisions in this process: default profile, all nodes scored, no API server.

    Each pod is parsed, decided and placed before the next one. 200 decisions of each scenario are repeated with all
    caches disabled and must be equal; otherwise the exit status is 1.

    \b
    scaled   pods/s, normalized to a calibration loop of one second
    floor    minimum of scaled with 5,000 nodes
    agreed   repeated decisions that are equal without caches

    \b
    Examples:
      stowplan bench decisions
      stowplan bench decisions --scenario basic --nodes 500 --json

    Exit status: 0 all repeated decisions are equal, 1 some differ.
    """
    progress = Progress(still=True)
    runner = Runner(nodes=nodes, pods=pods, seed=seed, progress=progress.write_line)
    names = names or NAMES
    results = (result for name in names for result in runner.run(load_scenario(name)))
    gather(progress, results, len(names), None if as_json else table)
    fail_for(runner.disagreements, "decisions that differ without caches")


def table(results: Iterable[Result]) -> list[str]:
    """Results in aligned columns, followed by notes on single scenarios."""
    results = list(results)
    lines = aligned([_HEADINGS, *(_row(result) for result in results)])
    return lines + [note for result in results for note in _notes(result)]


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.scenario,
        f"{result.nodes:,}",
        f"{result.pods:,}",
        f"{result.per_second:,.0f}",
        f"{result.scaled_per_second:,.0f}",
        "-" if result.floor is None else f"{result.floor:,.0f}",
        f"{result.cpu_us_per_pod:,.1f}",
        f"{result.p50_us:,.1f}",
        f"{result.p99_us:,.1f}",
        f"{result.rss_mib:,.0f}",
        f"{result.agreed}/{result.checked}" if result.checked else "-",
    )


def _notes(result: Result) -> list[str]:
    notes = []
    if result.max_rss_mib is not None:
        notes.append(f"{result.rss_mib:,.0f} MiB, limit {result.max_rss_mib:,.0f}")
    if result.cost_ratio is not None and result.max_cost_ratio is not None and result.cost_ratio != 1:
        notes.append(
            f"{result.nodes:,} nodes cost {result.cost_ratio:.2f} times as much, limit {result.max_cost_ratio}"
        )
    if result.min_rate_ratio is not None:
        ratio = result.ratios["decisions"]["per_second"]
        notes.append(f"{ratio:.2f} of the rate of bare decisions, at least {result.min_rate_ratio}")
    if result.unplaced:
        notes.append(f"{result.unplaced:,} pods were not placed")
    return [f"{result.scenario}: {note}" for note in notes]
