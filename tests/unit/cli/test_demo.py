"""The command `stowplan demo`, in a hurry."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.builders import node, pod
from tests.unit.web.test_report import contents

from stowplan.cli.demo_page import scenario_state
from stowplan.cli.main import cli
from stowplan.cli.report import state_report
from stowplan.config import default_configuration


def run(*arguments: str) -> list[str]:
    result = CliRunner().invoke(cli, ["demo", *arguments])
    assert result.exit_code == 0, result.exception
    return result.stdout.splitlines()


def test_without_a_terminal_there_are_lines() -> None:
    lines = run("--nodes", "12", "--speed", "20", "--duration", "1.5")
    assert lines[0] == "  0.0 s  an agent for every node"
    assert lines[1].startswith("  0.0 s  12 pods on 12 nodes; active 0, backoff 0,")
    assert any("batch jobs of low priority" in line for line in lines)
    assert any(" decisions, " in line and line.endswith(" simulated seconds.") for line in lines)
    assert "\x1b" not in "\n".join(lines)


def test_it_ends_by_itself() -> None:
    lines = run("--nodes", "6", "--speed", "1000")
    assert any(line.endswith("in 40 simulated seconds.") for line in lines)


@pytest.mark.parametrize("arguments", [("--nodes", "0"), ("--speed", "0"), ("--duration", "-1"), ("--nodes", "many")])
def test_nonsense_is_refused(arguments: tuple[str, str]) -> None:
    result = CliRunner().invoke(cli, ["demo", *arguments])
    assert result.exit_code == 2
    assert f"Invalid value for '{arguments[0]}'" in result.stderr


def on_terminal(*arguments: str, keys: tuple[tuple[bytes, bytes], ...] = ()) -> str:
    """What a command draws on a terminal. `keys`: texts, and what is typed once the text is there."""
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "stowplan", *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30", "PYTHONIOENCODING": "utf-8"}
    environment.pop("NO_COLOR", None)
    drawn = b""
    with subprocess.Popen(
        command,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as process:
        os.close(inside)
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
            if keys and keys[0][0] in drawn:
                os.write(terminal, keys[0][1])
                keys = keys[1:]
    os.close(terminal)
    assert process.returncode in (0, 3), drawn.decode()
    return drawn.decode()


@pytest.mark.slow
def test_on_a_terminal_there_is_a_picture() -> None:
    text = on_terminal("demo", "--nodes", "12", "--duration", "0.3", "--speed", "20")
    assert "A cell is a node" in text
    assert "Queues" in text
    assert "\x1b[" in text
    assert "simulated seconds." in text


@pytest.mark.slow
def test_keys(tmp_path: Path) -> None:
    """Two attempts by the arrow at a speed at which nothing would happen, then the end of the view."""
    text = on_terminal(
        "demo",
        "-f",
        str(manifests(tmp_path)),
        "--speed",
        "0.001",
        keys=((b"q quit", b" \x1b[A\x1b[C\x1b[C"), (b"(paused)", b"q")),
    )
    assert "0.002 attempts/s" in text
    assert "(paused)" in text
    assert "2 decisions" in text


@pytest.mark.slow
def test_simulate_shows_its_result_after_the_view(tmp_path: Path) -> None:
    text = on_terminal("simulate", str(manifests(tmp_path)), "--watch", keys=((b"q quit", b"q"),))
    assert "stowplan simulate" in text
    assert "4 placed, 1 pending" in text


def test_own_files_without_a_terminal(tmp_path: Path) -> None:
    lines = run("-f", str(manifests(tmp_path)), "--speed", "1000")
    assert any("4 pods on 2 nodes" in line for line in lines)
    assert "Insufficient cpu" in lines[-1]


def test_a_plugin_takes_part_in_the_scenario(tmp_path: Path) -> None:
    plugin = tmp_path / "never.py"
    plugin.write_text(
        "from stowplan import Code, Plugin, Status\n"
        "class Never(Plugin):\n"
        "    def filter(self, state, pod, node):\n"
        "        return Status(Code.Unschedulable, 'never here')\n"
    )
    assert any("never here" in line for line in run("--plugin", str(plugin), "--nodes", "6", "--speed", "1000"))


@pytest.mark.parametrize(
    "arguments",
    [["demo", "x.yaml", "--nodes", "5"], ["demo", "--context", "c"], ["simulate", "x", "--watch", "-o", "json"]],
)
def test_options_that_exclude_each_other(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert "Error: --" in result.stderr


def manifests(folder: Path) -> Path:
    """Two nodes for four of five pods."""
    nodes = [{"kind": "Node", "apiVersion": "v1", **node(name, cpu=4)} for name in ("a", "b")]
    pods = [{"kind": "Pod", "apiVersion": "v1", **pod(f"p{number}", requests={"cpu": "2"})} for number in range(5)]
    path = folder / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*nodes, *pods]}))
    return path


def test_the_demo_on_the_page() -> None:
    """The report of the demo has the run from its start, and plays it."""
    state = scenario_state(6, default_configuration(), {}, 0)
    answers = contents(state_report(state))["answers"]
    events = answers["run/events"]
    assert events["plays"]
    assert (events["unit"], events["end"]) == ("seconds", 40.0)
    assert "nodes are lost, pods come back elsewhere" in [mark["text"] for mark in events["marks"]]
    assert len(events["lost"]["name"]) == 1
    assert answers["hello"]["kind"] == "simulation"
    assert {"run", "history"} <= set(answers["hello"]["features"])


def test_options_of_the_page_need_it() -> None:
    result = CliRunner().invoke(cli, ["demo", "--open"])
    assert result.exit_code == 2
    assert "--port and --open need --web." in result.stderr
