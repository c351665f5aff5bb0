import click
import pytest
from click.testing import CliRunner

from stowplan.cli.commands import FileCommand, Group


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


@click.command(cls=FileCommand)
@click.argument("files", nargs=-1)
@click.option("-o", "--output")
def show(files: tuple[str, ...], output: str | None) -> None:
    click.echo(f"{files} {output}")


@pytest.mark.parametrize(
    "args", [["a", "-"], ["-f", "a", "-f", "-"], ["--filename", "a", "--filename=-"], ["-f", "a", "-"]]
)
def test_files_with_and_without_the_flag_of_kubectl(args: list[str]) -> None:
    assert CliRunner().invoke(show, [*args, "-o", "x"]).output == "('a', '-') x\n"
