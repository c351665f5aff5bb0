"""The benchmark of sweeps, with few runs: all executors have equal results, and the ratios are printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "sweep_speed.py"


def printed(*options: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(BENCHMARK), *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_times_and_ratios_of_a_small_sweep() -> None:
    pytest.importorskip("distributed")
    found = json.loads(printed("--runs", "4", "--rounds", "1", "--json"))
    seconds = found["seconds"]
    assert {*seconds} == {"one", "two", "dask"}
    assert found["runs"] == 4
    assert found["speedup"] == pytest.approx(seconds["one"] / seconds["two"], rel=0.02)
    assert found["dask_ratio"] == pytest.approx(seconds["dask"] / seconds["two"], rel=0.02)


def test_bars_are_printed() -> None:
    lines = printed("--runs", "2", "--rounds", "1").splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["one", "two"]
    assert "times as fast as one, at least 1.7: " in lines[-2]
    assert lines[-1].startswith("Dask: " if find_spec("distributed") else "Dask is not installed")
