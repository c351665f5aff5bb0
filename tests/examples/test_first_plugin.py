"""The commands of the first example, run as they stand in its README, print what it says they print."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "00-first-plugin"
COMMANDS: list[tuple[str, str]] = re.findall(
    r"^```console\n\$ ([^\n]*)\n(.*?)^```$", (FOLDER / "README.md").read_text(), re.DOTALL | re.MULTILINE
)
STATUSES = (0, 3, 3)


def run(command: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=FOLDER,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_are_three_commands() -> None:
    assert len(COMMANDS) == len(STATUSES)


@pytest.mark.parametrize(
    ("command", "printed", "status"), [(*command, status) for command, status in zip(COMMANDS, STATUSES, strict=True)]
)
def test_the_commands(command: str, printed: str, status: int) -> None:
    result = run(command)
    assert (result.returncode, result.stderr) == (status, "")
    assert result.stdout == printed


def test_the_plugin_decides() -> None:
    """All replicas are on the cheapest node, and who cannot pay waits for the plugin's reason."""
    (_, without), (_, with_plugin), _ = COMMANDS
    assert len(set(re.findall(r"^default +web-\S+ +Placed +(\w+)", without, re.MULTILINE))) == 3
    assert re.findall(r"^default +web-\S+ +Placed +(\w+)", with_plugin, re.MULTILINE) == ["ant"] * 4
    assert re.search(r"^default +miser +Pending ", with_plugin, re.MULTILINE)
    assert "2 node(s) cost more than the pod may spend" in with_plugin


@pytest.mark.slow
def test_the_plugin_is_fully_typed() -> None:
    """As `mypy --strict` sees it."""
    subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", "plugin.py"], cwd=FOLDER, check=True)
