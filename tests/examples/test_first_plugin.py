"""What the README of the first example shows, and that its plugin is typed. Its commands are run by test_readmes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "00-first-plugin"
SHOWN: list[str] = re.findall(
    r"^```console\n\$ (.*?)^```$", (FOLDER / "README.md").read_text(), re.DOTALL | re.MULTILINE
)


def test_the_plugin_decides() -> None:
    """All replicas are on the cheapest node, and who cannot pay waits for the plugin's reason."""
    without, with_plugin, _ = SHOWN
    assert len(set(re.findall(r"^default +web-\S+ +Placed +(\w+)", without, re.MULTILINE))) == 3
    assert re.findall(r"^default +web-\S+ +Placed +(\w+)", with_plugin, re.MULTILINE) == ["ant"] * 4
    assert re.search(r"^default +miser +Pending ", with_plugin, re.MULTILINE)
    assert "2 node(s) cost more than the pod may spend" in with_plugin


@pytest.mark.slow
def test_the_plugin_is_fully_typed() -> None:
    """As `mypy --strict` sees it."""
    subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", "plugin.py"], cwd=FOLDER, check=True)
