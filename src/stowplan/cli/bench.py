"""`stowplan bench`: how fast decisions are made on this machine."""

from collections.abc import Iterable, Sequence

import click

from stowplan.bench import NAMES, Result, Runner, load_scenario
from stowplan.cli.bench_options import fail_for, gather, json_option, names_option, seed_option, size_option
from stowplan.cli.columns import aligned
from stowplan.cli.command import CommandEntry, LazyGroup
from stowplan.cli.progress import Progress

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


_APART = {
    "cluster": CommandEntry(
        "stowplan.cli.bench_cluster",
        "cluster",
        "Measure our scheduler on a real API server, beside others on the same one.",
    ),
    "extender": CommandEntry(
        "stowplan.cli.bench_extender",
        "extender",
        "Measure our extender beside a plain one in Go, asked the same by turns.",
    ),
}
"""They bring along what it takes to talk to others, which not every installation has."""


@click.group(cls=LazyGroup, entries=_APART)
def bench() -> None:
    """Measure how fast decisions are made, how fast pods are scheduled on a real API server, and extenders.

    Only rates from one run can be compared directly: machines differ, and one and the same drifts. Hence the scaled
    rates, stated for a machine that takes one second for a loop of ten million additions, timed before and after.

    \b
    Examples:
      stowplan bench decisions
      stowplan bench cluster --workload basic
    """


@bench.command()
@size_option("--nodes", "Nodes in the cluster", "scenario")
@size_option("--pods", "Pods to decide", "scenario")
@names_option("scenario", NAMES)
@seed_option("For ties between nodes and for what is checked.")
@json_option("scenario")
def decisions(nodes: int | None, pods: int | None, names: Sequence[str], seed: int, as_json: bool) -> None:
    """Measure decisions in this process: the default profile, all nodes scored, no API server.

    A pod is interned, decided and placed before the next one is looked at. 200 decisions of each scenario are made a
    second time with every cache off, and must come out the same; if one does not, the exit status is 1.

    \b
    scaled   pods/s where the calibration loop takes one second
    floor    what scaled should reach with 5,000 nodes
    agreed   decisions that came out the same without caches

    \b
    Examples:
      stowplan bench decisions
      stowplan bench decisions --scenario basic --nodes 500 --json

    Exit status: 0 all came out the same, 1 some did not.
    """
    progress = Progress(still=True)
    runner = Runner(nodes=nodes, pods=pods, seed=seed, progress=progress.tell)
    names = names or NAMES
    results = (result for name in names for result in runner.run(load_scenario(name)))
    gather(progress, results, len(names), None if as_json else table)
    fail_for(runner.disagreements, "decisions that are not the same without caches")


def table(results: Iterable[Result]) -> list[str]:
    """Results in aligned columns, and below them what applies to some scenarios only."""
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
        notes.append(f"{result.unplaced:,} pods found no node")
    return [f"{result.scenario}: {note}" for note in notes]
