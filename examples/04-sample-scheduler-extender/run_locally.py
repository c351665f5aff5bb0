"""Runs etcd, kube-apiserver, kube-scheduler and the extender on this machine, and schedules four pods.

`python -m stowplan.testing build` builds the binaries once. The argument is the number of nodes, 3 by default.
"""

import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import yaml

from stowplan.testing import ControlPlane, KubeScheduler, Process, free_port, node, pod, wait_until

HERE = Path(__file__).parent
NAME = "sample-scheduler-extender"


def main(nodes: int) -> None:
    port, folder = free_port(), Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "stowplan", "extender", "--plugin", f"{HERE}/plugin.py:Lucky", "--log-requests"]
    text = (HERE / "v1.36" / "scheduler-extender-config.yaml").read_text().replace(":8888", f":{port}")
    config = {**yaml.safe_load(text), "leaderElection": {"leaderElect": False}}
    with (
        Process("extender", [*command, f"--port={port}"], folder / "extender.log") as extender,
        ControlPlane() as control_plane,
        control_plane.client() as api,
    ):
        extender.wait_ready(lambda: answers(f"http://127.0.0.1:{port}/readyz"))
        api.create_all(node(f"node-{i}") for i in range(nodes))
        with KubeScheduler(control_plane, config=config):
            api.create_all(pod(f"gambler-{i}", schedulerName=NAME) for i in range(4))
            wait_until(lambda: all(each["spec"].get("nodeName") for each in api.list("Pod", "default")))
        for each in api.list("Pod", "default"):
            sys.stdout.write(f"{each['metadata']['name']} -> {each['spec']['nodeName']}\n")
    calls = subprocess.run(["grep", "-o", 'verb="[a-z]*"', extender.log], capture_output=True, text=True, check=True)
    for verb in ("filter", "prioritize"):
        sys.stdout.write(f"{verb} was called {calls.stdout.count(verb)} times\n")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
