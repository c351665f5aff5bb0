import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

import stowplan.cli as package
from stowplan.cli.command import Command
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.main import COMMANDS, CommandEntry, cli, main
from stowplan.errors import ConfigError, InputError

Behaviour = Callable[[], object]


def raising(error: BaseException) -> Behaviour:
    def behaviour() -> None:
        raise error

    return behaviour


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Callable[[Behaviour], None]:
    """Add a subcommand `probe` with the body given by the test."""

    def install(behaviour: Behaviour) -> None:
        module = ModuleType("stowplan_probe")
        vars(module)["probe"] = Command("probe", callback=behaviour)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(COMMANDS, "probe", CommandEntry(module.__name__, "probe", "Runs the body of the test."))

    return install


def run_main(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["stowplan", *args])
    return main()


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_command_and_gives_examples(option: str) -> None:
    result = CliRunner().invoke(cli, [option])
    assert result.exit_code == 0
    for name, entry in COMMANDS.items():
        assert f"  {name}" in result.stdout
        assert entry.help in result.stdout
    assert "stowplan evaluate cases.jsonl\n" in result.stdout
    start = result.stdout.partition("Start with:\n")[2].splitlines()[:3]
    assert [line.split()[1] for line in start] == ["demo", "simulate", "new-plugin"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_loads_and_has_help(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    # The scheduler reads its own command line, as kube-scheduler does.
    program = "stowplan" if name == "scheduler" else "cli"
    assert result.stdout.startswith(f"Usage: {program} {name}")


@pytest.mark.parametrize(
    "args", [["--help"], ["version"], ["version", "-o", "json"], ["simulate", "--help"], ["demo", "--help"]]
)
def test_help_and_version_import_no_room_and_nothing_heavy(args: list[str]) -> None:
    script = "import sys; from stowplan.cli.main import main; main(); print(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=True)
    modules = result.stderr.split()
    assert {"numpy", "yaml", "msgspec", "rich"}.isdisjoint(modules)
    rooms = {name.split(".")[1] for name in modules if name.startswith("stowplan.")}
    assert rooms <= {"_version", "cli", "errors"}


def every_command() -> Iterator[tuple[str, str]]:
    """The help of every command and subcommand, by its name."""

    def walk(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str]]:
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                child = command.get_command(ctx, name)
                assert child is not None
                yield from walk(child, click.Context(child, info_name=name, parent=ctx))
        yield ctx.command_path, command.get_help(ctx)

    return walk(cli, click.Context(cli, info_name="stowplan", **cli.context_settings))


def test_every_help_ends_with_examples() -> None:
    lacking = [path for path, text in every_command() if "Examples:" not in text and path != "stowplan scheduler"]
    assert lacking == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["simulte"], "No such command 'simulte'. Did you mean 'simulate'?"),
        (["new_plugin"], "No such command 'new_plugin'. Did you mean 'new-plugin'?"),
        (["config", "checks"], "No such command 'checks'. Did you mean 'check'?"),
        (["bench", "clustr"], "No such command 'clustr'. Did you mean 'cluster'?"),
        (["extender", "reply"], "No such command 'reply'. Did you mean 'replay'?"),
        (["frobnicate"], "No such command 'frobnicate'."),
    ],
)
def test_misspelt_commands(args: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: {message}\n")


def test_python_m_stowplan_is_the_command() -> None:
    result = subprocess.run([sys.executable, "-m", "stowplan", "nonsense"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "stowplan: No such command 'nonsense'. See 'stowplan --help'.\n"


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["demo", "--duratio"], "No such option '--duratio'. Did you mean '--duration'? See 'stowplan demo --help'."),
        (["config", "check"], "Missing argument 'FILE...'. See 'stowplan config check --help'."),
        (["simulate"], "Missing manifests (FILE), --from-cluster or --sample. See 'stowplan simulate --help'."),
        (["help", "simulat"], "No such command 'simulat'. Did you mean 'simulate'? See 'stowplan --help'."),
        (["-v", "x"], "Invalid value for '-v' / '--v': 'x' is not an integer of at least 0. See 'stowplan --help'."),
        (["extender"], "command line: $.plugins: Required value: name at least one plugin, e.g. --plugin ./my.py"),
    ],
)
def test_wrong_usage_is_one_line(
    args: list[str], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, *args) == 2
    assert capsys.readouterr().err == f"stowplan: {line}\n"


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (InputError("cases.jsonl:3: not JSON"), ["stowplan: cases.jsonl:3: not JSON"]),
        (ConfigError("a.yaml: $.kind: missing"), ["stowplan: a.yaml: $.kind: missing"]),
        (ConfigError(["$.a: bad", "$.b: worse"]), ["stowplan: $.a: bad", "stowplan: $.b: worse"]),
    ],
)
@pytest.mark.parametrize("level", ["0", "4"])
def test_our_errors_are_lines_without_a_traceback(
    error: Exception,
    lines: list[str],
    level: str,
    probe: Callable[[Behaviour], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    probe(raising(error))
    assert run_main(monkeypatch, "-v", level, "probe") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == lines


@pytest.mark.parametrize("verbosity", [["-v", "5"], ["-v5"], ["-v=5"], ["--v", "6"], ["--v=10"]])
def test_verbosity_five_adds_the_traceback(
    verbosity: list[str],
    probe: Callable[[Behaviour], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    probe(raising(InputError("broken")))
    for arguments in ((*verbosity, "probe"), ("probe", *verbosity)):
        assert run_main(monkeypatch, *arguments) == 2
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[-1] == "stowplan: broken"


@pytest.mark.parametrize("level", ["-1", "loud", "1.5", ""])
def test_verbosity_must_be_a_whole_number(
    level: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ((f"--v={level}", "version"), ("version", f"--v={level}")):
        assert run_main(monkeypatch, *arguments) == 2
        assert f"{level!r} is not an integer of at least 0." in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["simulate"], ["scheduler"], ["config", "extender"], ["bench", "decisions"]])
def test_help_is_a_command_too(command: list[str]) -> None:
    expected = CliRunner().invoke(cli, [*command, "--help"])
    result = CliRunner().invoke(cli, ["help", *command])
    assert (result.exit_code, result.stdout) == (0, expected.stdout)


def test_every_exit_status_is_documented_in_the_help_and_in_the_reference() -> None:
    used = set(ExitStatus)
    shown = CliRunner().invoke(cli, ["--help"]).stdout.partition("Exit status:")[2]
    assert {int(number) for number in re.findall(r"^ +(\d+)  ", shown, re.MULTILINE)} == used
    reference = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()
    table = reference.partition("| exit status | meaning |")[2].partition("\n\n")[0]
    assert {int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == used


def test_commands_take_exit_statuses_from_one_table() -> None:
    number = re.compile(r"\bexit\(.*\b[1-9]|^\w*EXIT\w* =|exit_code = \d", re.MULTILINE)
    files = Path(next(iter(package.__path__))).glob("*.py")
    assert [file.name for file in files if number.search(file.read_text())] == []


def test_help_of_an_unknown_command_suggests_another() -> None:
    result = CliRunner().invoke(cli, ["help", "simulat"])
    assert result.exit_code == 2
    assert "No such command 'simulat'. Did you mean 'simulate'?" in result.stderr


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        (lambda: None, 0),
        (lambda: 7, 0),
        (lambda: click.get_current_context().exit(3), 3),
        (raising(click.UsageError("no such file")), 2),
        (raising(KeyboardInterrupt()), 130),
    ],
)
def test_exit_status(
    behaviour: Behaviour, status: int, probe: Callable[[Behaviour], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    probe(behaviour)
    assert run_main(monkeypatch, "probe") == status


def test_a_bug_is_not_dressed_up_as_a_user_error(
    probe: Callable[[Behaviour], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    probe(raising(ZeroDivisionError("bug")))
    with pytest.raises(ZeroDivisionError, match="bug"):
        run_main(monkeypatch, "probe")


def test_interruption_is_quiet(
    probe: Callable[[Behaviour], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    probe(raising(KeyboardInterrupt()))
    run_main(monkeypatch, "probe")
    captured = capsys.readouterr()
    assert (captured.out, captured.err.strip()) == ("", "")


@pytest.mark.parametrize("write", ["click.echo('x')", "sys.stdout.buffer.write(b'x')", "sys.stdout.write('x' * 99999)"])
def test_a_broken_pipe_is_not_an_error(write: str) -> None:
    script = (
        "import sys, types, click; from stowplan.cli import main as m\n"
        f"sys.modules['p'] = types.SimpleNamespace(c=click.Command('p', callback=lambda: {write}))\n"
        "m.COMMANDS['p'] = m.CommandEntry('p', 'c', ''); sys.exit(m.main())"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        command = [sys.executable, "-c", script, "p"]
        result = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=buffered, check=False)
    assert result.stderr == b""
    assert result.returncode == 1


def test_the_end_of_the_process_does_not_look_for_garbage() -> None:
    script = "import gc, sys; from stowplan.cli.main import main; main(); sys.exit(gc.get_freeze_count() == 0)"
    assert subprocess.run([sys.executable, "-c", script, "version"], check=False, timeout=60).returncode == 0
