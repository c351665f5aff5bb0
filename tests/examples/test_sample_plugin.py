"""A plugin that was written for the Go framework, ported line by line, in the places where it can run."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Json, World, node, pod, profile_config

from stowplan.cli.plugins import load_plugins
from stowplan.framework import Code, CycleState

FILE = Path(__file__).parents[2] / "examples" / "03-sample-scheduler" / "plugin.py"
PLUGIN = f"{FILE}:SamplePlugin"

ARGS = {"favorite_color": "#326CE5", "favorite_number": 7, "thanks_to": "somebody"}
ENABLED = {point: {"enabled": [{"name": "sample-plugin"}]} for point in ("preFilter", "filter", "preBind")}
NODES = [
    node("master", taints=[{"key": "control-plane", "effect": "NoSchedule"}]),
    node("node01"),
    node("node02", cpu=16),
]


def evaluate(tmp_path: Path, config: Json, *cases: Json) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    command = ["evaluate", "--config", str(file), "--plugin", PLUGIN, "-"]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    return subprocess.run(
        [sys.executable, "-m", "stowplan", *command],
        input=lines,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_on_the_command_line(tmp_path: Path) -> None:
    config = profile_config(ENABLED, {"sample-plugin": ARGS})
    case = {"id": "one", "pod": pod("test"), "nodes": NODES}
    done = evaluate(tmp_path, config, case, {"id": "two", "pod": pod("other"), "nodes": NODES[:1]})
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["feasible"] == ["node01", "node02"]
    assert second["message"].startswith("0/1 nodes are available: 1 node(s) had untolerated taint(s).")


@pytest.mark.parametrize(
    ("args", "problem"),
    [({"favourite_color": "red"}, "favourite_color"), ({"favorite_number": "x"}, "favorite_number")],
)
def test_wrong_args_are_told_before_anything_runs(tmp_path: Path, args: Json, problem: str) -> None:
    done = evaluate(tmp_path, profile_config(args={"sample-plugin": args}), {"pod": pod("test"), "nodes": NODES})
    assert done.returncode == 2
    assert done.stdout == ""
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_in_process(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sample-plugin")
    world = World(NODES, plugins=load_plugins([PLUGIN]), config=profile_config(args={"sample-plugin": ARGS}))
    assert world.decide(pod("test", requests={"cpu": 2})).node_name == "node02"
    assert caplog.messages == [
        "args: #326CE5, 7, thanks to somebody",
        "prefilter pod: test",
        "filter pod: test, node: node01",
        "filter pod: test, node: node02",
    ], "the filters before it had ruled out the master"
    plugin: Any = world.profile.points["preBind"][-1]
    assert plugin.name == "sample-plugin"
    caplog.clear()
    inner = getattr(plugin, "inner", plugin)
    assert inner.pre_bind(CycleState(), world.pod(pod("test")), "node02") is None
    (line,) = caplog.messages
    assert json.loads(line.removeprefix("prebind node info: ")) == NODES[2], "the node as a whole"
    status = inner.pre_bind(CycleState(), world.pod(pod("test")), "gone")
    assert status is not None
    assert status.code == Code.Error
