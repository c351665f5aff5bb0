"""`stowplan bench openb`: the published comparison of GPU policies, through the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import click

from stowplan.bench.openb import POLICIES, OpenbExperiment, OpenbResult, PublishedResults, run_experiment
from stowplan.bench.openb.published import MAX_MEAN_ERRORS
from stowplan.cli.bench_options import fail_for, gather, json_option
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned
from stowplan.errors import InputError

_HEADINGS = (
    "trace",
    "policy",
    "seed",
    "placed",
    "failed",
    "alloc 100",
    "alloc 130",
    "frag 60",
    "frag 90",
    "equal",
    "s",
)
_MAX_SEEDS = 10_000
_ALL_SEEDS = tuple(range(42, 52))
_TRACES = ("default", "cpu250", "gpushare100", "gpuspec33", "multigpu50")


def _numbers(ctx: click.Context, param: click.Parameter, given: str) -> tuple[int, ...]:
    """Numbers and ranges: 42,45-47."""
    found: list[int] = []
    for part in given.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.BadParameter(f"expected numbers and ranges such as 42-51, not {part!r}.")
        if dash and int(last) < int(first):
            raise click.BadParameter(f"the range {part.strip()} has no numbers: the smaller one comes first.")
        if int(last or first) - int(first) >= _MAX_SEEDS:
            raise click.BadParameter(f"the range {part.strip()} has more than {_MAX_SEEDS:,} numbers.")
        found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))


@click.command(cls=Command)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder with the trace: openb_node_list_gpu_node.csv, openb_pod_list_*.csv, the order file, expected_*.csv; "
    "each plain or with .gz.",
)
@click.option(
    "--policy", "policies", type=click.Choice(tuple(POLICIES)), multiple=True, help="May be given again. Default: all."
)
@click.option("--trace", "traces", multiple=True, help="A pod list; may be given again. Default: default.")
@click.option("--all-traces", is_flag=True, help=f"The pod lists {', '.join(_TRACES)}.")
@click.option("--seeds", callback=_numbers, default="42", show_default=True, help="Numbers and ranges: 42,45-47.")
@click.option(
    "--order",
    type=click.Choice(["file", "shuffle"]),
    default="file",
    show_default=True,
    help="Arrivals and node ranks of the order file, or shuffled by the seed.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
@json_option("experiment")
def openb(
    data: Path,
    policies: Sequence[str],
    traces: Sequence[str],
    all_traces: bool,
    seeds: Sequence[int],
    order: str,
    jobs: int,
    as_json: bool,
) -> None:
    """Repeat the published experiments on Alibaba's GPU trace of 2023, and compare the results.

    Pods arrive one by one in an empty cluster of 1,213 nodes with 6,212 GPUs until their requests are 130 percent of
    it. Each is tried once; one that fits nowhere is deleted. Every decision is the engine's, with the plugin
    FractionalGPU for scores.

    \b
    alloc 100   allocated GPUs in percent when pods for 100 percent of them have arrived
    frag 60     idle GPUs that pods of the trace cannot use, in percent of the idle ones, at a load of 60
    equal       points of allocation and fragmentation, of 131 each, that equal the published ones

    With the order file all policies but Random give the published results exactly. Random, and all policies with
    orders of another generator, agree in the mean of ten seeds.

    \b
    Examples:
      stowplan bench openb --data openb/
      stowplan bench openb --data openb/ --policy FGD --policy BestFit --seeds 42-51 --jobs 2
      stowplan bench openb --data openb/ --all-traces --seeds 42-51 --json

    Exit status: 0 all results agree with the published ones, 1 some do not, 2 the trace cannot be read.
    """
    experiments = [
        OpenbExperiment(
            data=str(data), policy=policy, trace=trace, seed=seed, order="file" if order == "file" else "shuffle"
        )
        for trace in (_TRACES if all_traces else tuple(traces) or ("default",))
        for seed in seeds
        for policy in tuple(policies) or tuple(POLICIES)
    ]
    published: PublishedResults | None = None
    note = ""
    try:
        published = PublishedResults.load(data)
    except InputError as problem:
        note = f"stowplan: {problem}; results are not compared"
    results = _run(experiments, jobs)
    if published is not None:
        results = map(published.compared, results)
    gathered = gather(
        Progress(still=True), results, len(experiments), None if as_json else lambda found: table(found, published)
    )
    if note:  # After the results: a folder that cannot be used is one line.
        click.echo(note, err=True)
    if published is not None:
        fail_for(disagreements(gathered, published), "results that differ from the published ones")


def _run(experiments: Sequence[OpenbExperiment], jobs: int) -> Iterator[OpenbResult]:
    if jobs == 1 or len(experiments) == 1:
        yield from map(run_experiment, experiments)
        return
    with ProcessPoolExecutor(min(jobs, len(experiments)), get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run_experiment, each) for each in experiments]):
            yield future.result()


def table(results: Sequence[OpenbResult], published: PublishedResults | None) -> list[str]:
    """Results in aligned columns, followed by means over seeds."""
    order = list(POLICIES)
    ordered = sorted(results, key=lambda result: (result.trace, order.index(result.policy), result.seed))
    lines = aligned([_HEADINGS, *(_row(result, published) for result in ordered)], left=(0, 1))
    if published is not None:
        for (trace, policy), means in published.compare_means(ordered).items():
            if means.seeds > 1:
                lines.append(
                    f"{trace} {policy}: allocation at 100, mean of {means.seeds} seeds: {means.ours:.2f} ± "
                    f"{means.ours_deviation:.2f}, published {means.theirs:.2f} ± {means.theirs_deviation:.2f}"
                )
    return lines


def _row(result: OpenbResult, published: PublishedResults | None) -> tuple[str, ...]:
    comparison = None if published is None else published.compare(result)
    exact = comparison is not None and _is_exact(result)
    return (
        result.trace,
        result.policy,
        str(result.seed),
        f"{result.placed:,}",
        f"{result.pods - result.placed:,}",
        f"{result.allocation[100]:.2f}",
        f"{result.allocation[130]:.2f}",
        f"{result.fragmentation[60]:.2f}",
        f"{result.fragmentation[90]:.2f}",
        f"{comparison.allocation}, {comparison.fragmentation}" if comparison is not None and exact else "-",
        f"{result.cpu_seconds:.1f}",
    )


def _is_exact(result: OpenbResult) -> bool:
    """Whether the result must equal the published one."""
    return result.order == "file" and result.policy != "Random"


def disagreements(results: Sequence[OpenbResult], published: PublishedResults) -> list[str]:
    """Experiments that must be exact and are not, and means of ten seeds beyond the tolerance."""
    found = []
    for result in results:
        comparison = published.compare(result)
        if comparison is not None and _is_exact(result) and not comparison.is_exact:
            found.append(
                f"{result.scenario}: {comparison.allocation} and {comparison.fragmentation} of 131 points equal"
            )
    by_seed = [result for result in results if not _is_exact(result)]
    for (trace, policy), means in published.compare_means(by_seed).items():
        if means.seeds >= len(_ALL_SEEDS) and abs(means.ours - means.theirs) > MAX_MEAN_ERRORS[policy]:
            found.append(f"{trace} {policy}: mean allocation {means.ours:.2f}, published {means.theirs:.2f}")
    return found
