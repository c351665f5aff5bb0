import click
import pytest
from click.testing import CliRunner

from stowplan.cli.groups import Group


@click.group(cls=Group)
def tools() -> None:
    """Some tools."""


@tools.command()
def hammer() -> None:
    click.echo("bang")


@pytest.mark.parametrize(
    ("args", "status", "told"),
    [
        (["hammer"], 0, "bang\n"),
        (["hamer"], 2, "Error: No such command 'hamer'. Did you mean 'hammer'?\n"),
        (["saw"], 2, "Error: No such command 'saw'.\n"),
    ],
)
def test_what_was_probably_meant(args: list[str], status: int, told: str) -> None:
    result = CliRunner().invoke(tools, args)
    assert result.exit_code == status
    assert result.output.endswith(told)
