"""What benchmarks on the command line have in common: options, the bar while they run, and how one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import click

from stowplan.cli.progress import Progress

DISAGREED = 1
SHOWN = 10

Option = Callable[[Any], Any]


class Measured(Protocol):
    """What comes of a scenario."""

    @property
    def scenario(self) -> str: ...

    def to_json(self) -> bytes: ...


T = TypeVar("T", bound=Measured)


def names_option(what: str, names: Sequence[str]) -> Option:
    """Which scenarios or workloads are run."""
    return click.option(
        f"--{what}",
        "names",
        type=click.Choice(names),
        multiple=True,
        metavar="NAME",
        help=f"{what.capitalize()} to run; may be given again. All, unless given: {', '.join(names)}.",
    )


def size_option(name: str, about: str, what: str) -> Option:
    """A number that each scenario or workload has of its own."""
    return click.option(name, type=click.IntRange(min=1), help=f"{about}, instead of the {what}'s own number.")


def seed_option(about: str) -> Option:
    return click.option("--seed", type=int, default=0, show_default=True, help=about)


def json_option(what: str) -> Option:
    return click.option("--json", "as_json", is_flag=True, help=f"Print one JSON object a {what}, a line each.")


def gather(
    progress: Progress, results: Iterable[T], scenarios: int, table: Callable[[list[T]], list[str]] | None
) -> list[T]:
    """All results, printed as a table once they are there, or without one as a line of JSON each as it comes."""
    gathered: list[T] = []
    with progress:
        progress.start("measuring", total=scenarios)
        for result in results:
            gathered.append(result)
            progress.reach(len({each.scenario for each in gathered}))
            if table is None:
                progress.tell(result.to_json(), err=False)
    if table is not None:
        click.echo("\n".join(table(gathered)))
    return gathered


def fail_for(disagreements: Sequence[str], what: str) -> None:
    """End with another exit status than 0 if anything did not come out the same."""
    if not disagreements:
        return
    for line in disagreements[:SHOWN]:
        click.echo(f"stowplan: {line}", err=True)
    click.echo(f"stowplan: {what}: {len(disagreements)}", err=True)
    click.get_current_context().exit(DISAGREED)
