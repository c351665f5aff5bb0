"""`stowplan bench`: how fast decisions are made on this machine."""

from collections.abc import Iterable, Sequence

import click

from stowplan.bench import NAMES, Result, Runner, load_scenario
from stowplan.cli.columns import aligned
from stowplan.cli.commands import Group

DISAGREED = 1
SHOWN = 10

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


class _Group(Group):
    """Knows two more subcommands, which bring along what it takes to talk to others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), "cluster", "extender"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "cluster":
            from stowplan.cli.bench_cluster import cluster

            return cluster
        if cmd_name == "extender":
            from stowplan.cli.bench_extender import extender

            return extender
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Group)
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
@click.option("--nodes", type=click.IntRange(min=1), help="Nodes in the cluster, instead of the scenario's own number.")
@click.option("--pods", type=click.IntRange(min=1), help="Pods to decide, instead of the scenario's own number.")
@click.option(
    "--scenario",
    "names",
    type=click.Choice(NAMES),
    multiple=True,
    metavar="NAME",
    help=f"Scenario to run; may be given again. All, unless given: {', '.join(NAMES)}.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For ties between nodes and for what is checked.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a scenario, a line each.")
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
    runner = Runner(nodes=nodes, pods=pods, seed=seed, progress=lambda message: click.echo(message, err=True))
    results: list[Result] = []
    for name in names or NAMES:
        for result in runner.run(load_scenario(name)):
            results.append(result)
            if as_json:
                click.echo(result.to_json())
    if not as_json:
        click.echo("\n".join(table(results)))
    if runner.disagreements:
        for disagreement in runner.disagreements[:SHOWN]:
            click.echo(f"stowplan: {disagreement}", err=True)
        click.echo(f"stowplan: decisions that are not the same without caches: {len(runner.disagreements)}", err=True)
        click.get_current_context().exit(DISAGREED)


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
