"""`python -m stowplan.testing`: build the binaries of a control plane, or show where they are."""

import sys
from collections.abc import Iterable

import click

from stowplan.errors import StowplanError
from stowplan.testing.binaries import BUILDABLE, NEEDED, cache_folder, find, kubernetes_version


@click.group()
def main() -> None:
    """The control plane that tests run against: etcd, kube-apiserver and kube-scheduler."""


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(BUILDABLE))
@click.option("--if-possible", is_flag=True, help="Exit with status 0 even where they cannot be built.")
def build(names: tuple[str, ...], if_possible: bool) -> None:
    """Build missing binaries with Go into a cache folder. Without names: etcd, kube-apiserver and kube-scheduler."""
    from stowplan.testing import build_binaries

    try:
        build_binaries.build(names or NEEDED, report=lambda line: click.echo(f"control plane: {line}"))
        if not if_possible:
            tell(names or NEEDED)
    except StowplanError as problem:
        for line in str(problem).splitlines():
            click.echo(f"control plane: {line}", err=True)
        sys.exit(0 if if_possible else 1)


@main.command()
def where() -> None:
    """Show the binaries that tests use."""
    tell(BUILDABLE)
    click.echo(f"release: {kubernetes_version()}")
    click.echo(f"cache: {cache_folder()}")


def tell(names: Iterable[str]) -> None:
    for name in names:
        click.echo(f"{name}: {find(name) or 'missing'}")


if __name__ == "__main__":
    main(prog_name="python -m stowplan.testing")
