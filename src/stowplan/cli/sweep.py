"""`stowplan sweep`: many runs over parameters and seeds, in parallel and resumable."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from stowplan.cli.command import Command
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import load_plugins
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned
from stowplan.errors import InputError, os_error_text
from stowplan.study.files import write_whole
from stowplan.study.plots import check_plot_file, write_plot
from stowplan.study.sweep import SweepResults, dask_executor, load_study, process_executor, sweep
from stowplan.study.sweep.pareto_plot import check_plottable, pareto_svg
from stowplan.study.sweep.search import search

_RESULTS_FILE = "sweep.json"
_LOCAL = "local"


@click.command(cls=Command, name="sweep")
@click.argument("study_file", metavar="STUDY", type=click.Path(dir_okay=False))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results, one file per run; an interrupted sweep continues with these files. "
    "Default: the study's name with -results.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes on this machine.")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on the Dask workers of a scheduler, such as tcp://10.0.0.1:8786, or 'local' for --jobs workers here. "
    "Needs the extra dask.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the Pareto plot as SVG or, with the extra plots, as PNG.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def sweep_command(
    study_file: str, out: Path | None, jobs: int, dask: str | None, plot: Path | None, output: str
) -> None:
    """Run a STUDY: a scenario, or a function of yours, with every combination of parameters and seeds.

    A run's name is a hash of everything that determines it, so a sweep that was interrupted goes on where it was, and
    a changed study repeats only the runs that changed. Results are the same for any number of processes. Variations
    on the Pareto front of the metrics in minimise and maximise are marked with *.

    \b
    A study:
      apiVersion: simulation.stowplan/v1alpha1
      kind: Study
      scenario: friday.yaml
      seeds: 10
      vary:
        config.profiles[0].plugins.score.NodeResourcesFit.weight: [1, 5, 20]
        nodes.pools.general.count: [80, 100]
      minimise: [wait.p95, cost]

    \b
    Examples:
      stowplan sweep study.yaml --jobs 2
      stowplan sweep study.yaml --dask tcp://10.0.0.1:8786 --plot front.svg -o markdown

    Exit status: 0 all runs have results, 1 some failed, 2 the study cannot be used, 4 some failed by a bug of a plugin,
    130 interrupted.
    """
    study = load_study(study_file)
    folder = out or Path(f"{study.name}-results")
    if plot is not None:
        check_plot_file(plot, folder)
        check_plottable(study)
    run = search if isinstance(study.spec.search, dict) and "optuna" in study.spec.search else sweep
    progress = Progress()
    with _executor(jobs, dask) as executor, progress:
        progress.start("running")

        def show(done: int, total: int) -> None:
            progress.start(f"{done} of {total} runs", total=total)
            progress.reach(done)

        results = run(study, folder, executor, progress=show, load_plugins=load_plugins)
    document = msgspec.json.format(msgspec.json.encode(results.document()), indent=1)
    _write(folder / _RESULTS_FILE, document + b"\n")
    if plot is not None:
        write_plot(pareto_svg(results), plot)
    click.echo(document.decode() if output == "json" else "\n".join(_lines(results, output)))
    for row in results.failed:
        click.echo(f"stowplan: run {row.name} (seed {row.seed}): {row.error}", err=True)
    if results.failed:
        bugs = any(row.plugin_bug for row in results.failed)
        click.get_current_context().exit(ExitStatus.PLUGIN_BUG if bugs else ExitStatus.CHECK_FAILED)


def _write(file: Path, content: bytes) -> None:
    try:
        write_whole(file, content)
    except OSError as problem:
        raise InputError(f"{file}: {os_error_text(problem)}; the runs are complete: run the sweep again") from problem


@contextmanager
def _executor(jobs: int, dask: str | None) -> Iterator[Executor | None]:
    if dask is not None:
        with dask_executor("" if dask == _LOCAL else dask, jobs) as executor:
            yield executor
    elif jobs > 1:
        with process_executor(jobs) as executor:
            yield executor
    else:
        yield None


def _lines(results: SweepResults, output: str) -> list[str]:
    rows = results.table()
    if output == "markdown":
        heading, *others = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return [heading, "|" + "---|" * len(rows[0]), *others]
    return aligned(rows, left=(0, 1))
