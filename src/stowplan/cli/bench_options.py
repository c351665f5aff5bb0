"""Shared parts of the benchmark commands: options, progress bar, and the exit status after a failed check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import click

from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.progress import Progress

MAX_PRINTED_DISAGREEMENTS = 10

Option = Callable[[Any], Any]


class Measured(Protocol):
    """The result of a scenario."""

    @property
    def scenario(self) -> str: ...

    def to_json(self) -> bytes: ...


T = TypeVar("T", bound=Measured)


def names_option(what: str, names: Sequence[str]) -> Option:
    """The option that selects scenarios or workloads."""
    return click.option(
        f"--{what}",
        "names",
        type=click.Choice(names),
        multiple=True,
        metavar="NAME",
        help=f"{what.capitalize()} to run; may be given again. Default: all of {', '.join(names)}.",
    )


def size_option(name: str, about: str, what: str) -> Option:
    """An option that overrides a number of each scenario or workload."""
    return click.option(name, type=click.IntRange(min=1), help=f"{about}; overrides the {what}'s number.")


def seed_option(about: str) -> Option:
    return click.option("--seed", type=int, default=0, show_default=True, help=about)


def json_option(what: str) -> Option:
    return click.option("--json", "as_json", is_flag=True, help=f"Print one line of JSON per {what}.")


def gather(
    progress: Progress, results: Iterable[T], scenarios: int, table: Callable[[list[T]], list[str]] | None
) -> list[T]:
    """Collects all results, then prints them with `table`; without `table` prints each as a line of JSON at once."""
    gathered: list[T] = []
    with progress:
        progress.start("measuring", total=scenarios)
        for result in results:
            gathered.append(result)
            progress.reach(len({each.scenario for each in gathered}))
            if table is None:
                progress.write_line(result.to_json(), err=False)
    if table is not None:
        click.echo("\n".join(table(gathered)))
    return gathered


def fail_for(disagreements: Sequence[str], what: str) -> None:
    """Exits with status 1 if there are disagreements, after printing the first ones."""
    if not disagreements:
        return
    for line in disagreements[:MAX_PRINTED_DISAGREEMENTS]:
        click.echo(f"stowplan: {line}", err=True)
    click.echo(f"stowplan: {what}: {len(disagreements)}", err=True)
    click.get_current_context().exit(ExitStatus.CHECK_FAILED)
