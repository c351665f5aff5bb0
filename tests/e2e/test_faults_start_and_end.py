"""What keeps a scheduler from starting is told in a line; what it has begun it brings to an end before it goes."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan
from tests.e2e.electing import ELECTING, Lease, leads

from stowplan.testing import SCHEDULER, ControlPlane, Delay, FaultProxy, Hold, KubeApi, Rule, node, pod, wait_until
from stowplan.testing.certificates import Authority

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

BINDINGS: dict[str, Any] = {"method": "POST", "path": "/binding$"}


def outcome(*flags: str) -> tuple[int, list[str]]:
    """How the scheduler ends that is started with these flags, and what it complains of."""
    command = [
        sys.executable,
        "-m",
        "stowplan",
        "scheduler",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        *flags,
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in run.stderr
    lines = [line for line in run.stderr.splitlines() if not re.match(r"[IW]\d{4} ", line)]
    return run.returncode, lines


def test_a_bad_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelisms: 3\n")
    status, (complaint,) = outcome(f"--config={file}")
    assert status == 1
    assert complaint.startswith(f"stowplan: {file}: ")
    assert "parallelisms" in complaint


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--config=/no/such.yaml"], "open /no/such.yaml: no such file or directory"),
        (["--kubeconfig=/no/such.kubeconfig"], "kubeconfig /no/such.kubeconfig: No such file or directory"),
        (["--no-such-flag"], "unknown flag: --no-such-flag"),
        (["--plugin=./no_such.py:Plugin"], "--plugin ./no_such.py:Plugin: no such file: no_such.py"),
    ],
)
def test_files_that_are_missing(flags: list[str], complaint: str) -> None:
    assert outcome(*flags) == (1, [f"stowplan: {complaint}"])


def test_credentials_that_are_refused(control_plane: ControlPlane, tmp_path: Path) -> None:
    config = yaml.safe_load(control_plane.kubeconfig(SCHEDULER).read_text())
    config["users"][0]["user"]["token"] = "outdated"
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    complaint = f"stowplan: {control_plane.url}: the credentials are refused: Unauthorized"
    assert outcome(f"--kubeconfig={tmp_path}/kubeconfig", "--secure-port=0") == (1, [complaint])


def test_credentials_that_cannot_be_had(control_plane: ControlPlane, tmp_path: Path) -> None:
    config = yaml.safe_load(control_plane.kubeconfig(SCHEDULER).read_text())
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login", "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": login}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    status, (complaint,) = outcome(f"--kubeconfig={tmp_path}/kubeconfig", "--secure-port=0")
    assert status == 1
    assert "no-such-login" in complaint


def test_a_server_that_cannot_be_trusted(control_plane: ControlPlane, tmp_path: Path) -> None:
    config = yaml.safe_load(control_plane.kubeconfig(SCHEDULER).read_text())
    cluster = config["clusters"][0]["cluster"]
    del cluster["certificate-authority-data"]
    cluster["certificate-authority"] = str(Authority(tmp_path).file)
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    status, (complaint,) = outcome(f"--kubeconfig={tmp_path}/kubeconfig", "--secure-port=0")
    assert status == 1
    assert complaint.startswith(f"stowplan: {control_plane.url}: the server's certificate is not trusted: ")


def test_a_port_in_use(control_plane: ControlPlane) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, (complaint,) = outcome(f"--kubeconfig={control_plane.kubeconfig(SCHEDULER)}", f"--secure-port={port}")
    assert status == 1
    assert complaint.startswith("stowplan: failed to create listener: failed to listen on 127.0.0.1:")
    assert complaint.endswith("address already in use")


def scheduled_events(kube_api: KubeApi, namespace: str) -> set[str]:
    events = kube_api.list("events.k8s.io/v1/Event", namespace)
    return {event["regarding"]["name"] for event in events if event["reason"] == "Scheduled"}


def test_sigterm_lets_bindings_finish(
    kube_api: KubeApi,
    namespace: str,
    audit: Audit,
    lease: Lease,
    start_stowplan: StartStowplan,
    start_fault_proxy: Callable[..., FaultProxy],
) -> None:
    proxy = start_fault_proxy()
    kube_api.create(node("n", cpu="40", memory="40Gi"))
    scheduler = start_stowplan(server=proxy.url, config=ELECTING)
    wait_until(lambda: leads(scheduler))
    hold = Hold()
    held = proxy.add(Rule(hold, **BINDINGS))
    kube_api.create_all(pod(f"p-{i}", namespace) for i in range(20))
    wait_until(lambda: held.hits >= 16)
    told = time.monotonic()
    os.kill(scheduler.pid, signal.SIGTERM)
    time.sleep(0.3)
    assert scheduler.alive, "it waits for them"
    hold.release()
    assert scheduler.wait() == 0
    assert time.monotonic() - told < 5
    assert lease["holderIdentity"] == ""
    finished = kube_api.bound_pods(namespace)
    assert len(finished) >= 16
    assert scheduled_events(kube_api, namespace) == set(finished)
    time.sleep(1.5)
    assert kube_api.bound_pods(namespace) == finished, "nothing comes after the end"
    proxy.remove(held)
    scheduler.start()
    audit.wait_for_all(namespace, 20)


def test_sigterm_while_nothing_answers(
    kube_api: KubeApi,
    namespace: str,
    lease: Lease,
    start_stowplan: StartStowplan,
    start_fault_proxy: Callable[..., FaultProxy],
) -> None:
    proxy = start_fault_proxy()
    kube_api.create(node("n"))
    scheduler = start_stowplan(server=proxy.url, config=ELECTING)
    wait_until(lambda: leads(scheduler))
    stuck = proxy.add(Rule(Delay(60, forward=False)))
    kube_api.create_all(pod(f"p-{i}", namespace) for i in range(20))
    wait_until(lambda: stuck.hits)
    told = time.monotonic()
    scheduler.stop()
    assert time.monotonic() - told < 5
    assert scheduler.returncode == 0
    assert lease["holderIdentity"], "which was not handed on, but ends"
