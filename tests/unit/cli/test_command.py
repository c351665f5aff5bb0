import gc
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stowplan.cli.command import CommandEntry, FileCommand, Group, LazyGroup


@click.group(cls=Group)
def tools() -> None:
    """Some tools."""


@tools.command()
@click.option("--hard", is_flag=True)
def hammer(hard: bool) -> None:
    """Drive nails in, of whatever length, or pull them out again, which takes a good deal longer.

    More about nails.

    \b
    Examples:
      hammer --hard

    Exit status: 0.
    """
    click.echo("bang")


def test_examples_and_what_follows_are_at_the_bottom() -> None:
    shown = CliRunner().invoke(tools, ["hammer", "--help"]).stdout
    about, options, end = shown.partition("Options:")
    assert "More about nails." in about
    assert options
    assert end.index("--help") < end.index("Examples:\n    hammer --hard\n") < end.index("Exit status: 0.")
    assert "Examples" not in about


def test_commands_are_listed_with_all_of_their_first_paragraph() -> None:
    listed = " ".join(CliRunner().invoke(tools, ["--help"]).stdout.split())
    assert listed.endswith(
        "hammer Drive nails in, of whatever length, or pull them out again, which takes a good deal longer."
    )


def test_what_is_imported_on_demand_is_listed_without_that() -> None:
    lazy = LazyGroup(name="lazy", entries={"saw": CommandEntry("no.such.module", "saw", "Cut wood.")})
    assert "saw  Cut wood." in CliRunner().invoke(lazy, ["--help"]).stdout
    assert isinstance(CliRunner().invoke(lazy, ["saw"]).exception, ModuleNotFoundError)


def test_the_collector_does_not_run_while_a_command_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_saw.py").write_text(
        "import click, gc\ncollects = gc.isenabled()\n@click.command()\ndef saw(): click.echo(str(collects))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    lazy = LazyGroup(name="lazy", entries={"saw": CommandEntry("imported_saw", "saw", "Cut wood.")})
    assert CliRunner().invoke(lazy, ["saw"]).stdout == "False\n"
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["hammer"], 0, "bang\n"),
        (["hamer"], 2, "Error: No such command 'hamer'. Did you mean 'hammer'?\n"),
        (["saw"], 2, "Error: No such command 'saw'.\n"),
    ],
)
def test_what_was_probably_meant(args: list[str], status: int, message: str) -> None:
    result = CliRunner().invoke(tools, args)
    assert result.exit_code == status
    assert result.output.endswith(message)


@click.command(cls=FileCommand)
@click.argument("files", nargs=-1)
@click.option("-o", "--output")
def show(files: tuple[str, ...], output: str | None) -> None:
    click.echo(f"{files} {output}")


@pytest.mark.parametrize(
    "args", [["a", "-"], ["-f", "a", "-f", "-"], ["--filename", "a", "--filename=-"], ["-f", "a", "-"], ["-fa", "-f=-"]]
)
def test_files_with_and_without_the_flag_of_kubectl(args: list[str]) -> None:
    assert CliRunner().invoke(show, [*args, "-o", "x"]).output == "('a', '-') x\n"


def test_names_after_the_end_of_options_are_files() -> None:
    assert CliRunner().invoke(show, ["-fa", "--", "-f"]).output == "('a', '-f') None\n"


@pytest.mark.parametrize("flag", ["-f", "--filename"])
def test_the_flag_wants_a_file(flag: str) -> None:
    result = CliRunner().invoke(show, [flag])
    assert result.exit_code == 2
    assert f"Option '{flag}' requires an argument." in result.output
