"""`stowplan record` beside a scheduler on a real API server, and `stowplan replay` of what it recorded."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.e2e.conftest import StartStowplan

from stowplan.cli.main import cli
from stowplan.testing import ADMIN, ControlPlane, KubeApi, Process, node, pod

pytestmark = pytest.mark.e2e

PODS = 500


def wait(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.5)


def test_a_recording_replayed_with_the_same_configuration_gives_the_same_placements(
    control_plane: ControlPlane, kube_api: KubeApi, start_stowplan: StartStowplan, namespace: str, tmp_path: Path
) -> None:
    for number in range(20):
        kube_api.create(node(f"record-{number}", cpu=str(16 + number)))
    file = tmp_path / "r.gz"
    command = [sys.executable, "-m", "stowplan", "record", str(file)]
    command += ["--kubeconfig", str(control_plane.kubeconfig(ADMIN)), "--for", "5m"]
    log = tmp_path / "record.log"
    recorder = Process("record", command, log)
    recorder.start()
    start_stowplan()
    wait(lambda: "objects listed" in log.read_text())
    # Pods that exist when the scheduler starts are listed by name, which the recording does not show.
    kube_api.create(pod("first", namespace, cpu="100m"))
    wait(lambda: all(item["spec"].get("nodeName") for item in kube_api.list("Pod", namespace)))
    for number in range(PODS - 1):
        kube_api.create(pod(f"p{number}", namespace, cpu=f"{100 + number % 7 * 50}m"))
    wait(lambda: all(item["spec"].get("nodeName") for item in kube_api.list("Pod", namespace)))
    time.sleep(2)
    recorder.stop()
    found = CliRunner().invoke(cli, ["replay", str(file), "-o", "json"])
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    verdicts = answer["verdicts"]
    assert sum(verdicts.values()) == PODS
    assert verdicts.get("same", 0) + verdicts.get("tie", 0) == PODS, found.stdout
