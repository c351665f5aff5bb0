"""Rare mishaps: an API server that takes requests and answers none, and plugins whose mistakes are unusual ones."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import StartStowplan

from stowplan.testing import KubeApi, Process, free_port, node, pod, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""

MISTAKEN = '''
from stowplan import Plugin, reject


class Mistaken(Plugin):
    """Makes the mistake that a pod asks for."""

    name = "Mistaken"
    scope = "cluster"

    def filter(self, state, pod, node):
        return reject("no such file: file\\udce9") if "words" in pod.labels else None

    async def permit(self, state, pod, node_name):
        return self._allow(state, pod, node_name)

    def _allow(self, state, pod):
        """Lacks an argument."""

    def concerns(self, template):
        return "mistake" in template.labels
'''


def test_sigterm_ends_a_scheduler_that_has_not_yet_begun(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.format(port=silent.getsockname()[1]))
        flags = [f"--{name}kubeconfig={kubeconfig}" for name in ("", "authentication-", "authorization-")]
        command = [sys.executable, "-m", "stowplan", "scheduler", *flags, f"--secure-port={free_port()}"]
        with Process("stowplan", command, tmp_path / "log") as scheduler, silent.accept()[0]:
            os.kill(scheduler.pid, signal.SIGTERM)
            told = time.monotonic()
            assert scheduler.wait(20) == 0
            assert time.monotonic() - told < 5


def test_unusual_mistakes_cost_their_pods_alone(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan, tmp_path: Path
) -> None:
    (tmp_path / "mistaken.py").write_text(MISTAKEN)
    scheduler = start_stowplan(f"--plugin={tmp_path}/mistaken.py:Mistaken", "--logging-format=json")
    kube_api.create(node("n", cpu="4"))
    kube_api.create(pod("words", namespace, labels={"mistake": "", "words": ""}))
    kube_api.create(pod("argument", namespace, labels={"mistake": ""}))

    def told(name: str) -> str:
        events = kube_api.list("events.k8s.io/v1/Event", namespace)
        return " ".join(event["note"] for event in events if event["regarding"]["name"] == name)

    wait_until(lambda: "no such file: file?" in told("words"))
    wait_until(lambda: "takes 3 positional arguments but 4 were given" in told("argument"))
    kube_api.create(pod("fine", namespace))
    assert kube_api.wait_for_pods_bound(namespace, 1) == {"fine": "n"}
    os.kill(scheduler.pid, signal.SIGUSR2)
    wait_until(lambda: "Dump of scheduling queue" in scheduler.log.read_text())
    assert "name: words, namespace: " in scheduler.log.read_text()
    assert scheduler.alive
