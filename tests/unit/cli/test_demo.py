"""The command `stowplan demo`, in a hurry."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli.main import cli


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


@pytest.mark.slow
def test_on_a_terminal_there_is_a_picture(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "stowplan", "demo", "--nodes", "12", "--duration", "0.3", "--speed", "20"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "PYTHONIOENCODING": "utf-8"}
    environment.pop("NO_COLOR", None)
    drawn = b""
    with subprocess.Popen(command, stdout=inside, stderr=inside, env=environment) as process:
        os.close(inside)
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
    os.close(terminal)
    assert process.returncode == 0
    text = drawn.decode()
    assert "A cell is a node" in text
    assert "Queues" in text
    assert "\x1b[" in text
    assert "simulated seconds." in text
