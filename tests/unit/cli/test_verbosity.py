from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BOOM = """
from stowplan import Plugin

class Boom(Plugin):
    def filter(self, state, pod, node):
        raise RuntimeError("no idea")
"""
WARNING = "stowplan: Plugin failed: filter raised RuntimeError: no idea ({}/boom.py:6) (plugin=Boom)"


@pytest.fixture
def boom(tmp_path: Path) -> str:
    (tmp_path / "boom.py").write_text(BOOM)
    return f"--plugin={tmp_path / 'boom.py'}:Boom"


def warnings(*args: str) -> list[str]:
    """Of a separate process, since pytest captures the log of this one."""
    command = [sys.executable, "-m", "stowplan", *args]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    return [line for line in lines if "the sample is in" not in line]


def test_a_plugin_that_raises_for_every_pod_is_reported_once(boom: str, tmp_path: Path) -> None:
    assert warnings("simulate", "--sample", boom) == [WARNING.format(tmp_path.name)]


def test_with_a_traceback_on_demand(boom: str, tmp_path: Path) -> None:
    warning = WARNING.format(tmp_path.name)
    lines = warnings("-v", "5", "simulate", "--sample", boom)
    assert lines[:2] == [warning, "stowplan: Traceback (most recent call last):"]
    assert lines[-1] == "stowplan: RuntimeError: no idea"
    assert lines.count(warning) == 1
