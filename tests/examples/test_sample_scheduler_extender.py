"""A second scheduler with an extender as its sidecar, from its ConfigMap and Deployment."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.examples.conftest import Start
from tests.examples.static_pods import ExampleExtender, folder_of

from stowplan.testing import ControlPlane, KubeApi, Process, User, node, pod, wait_until
from stowplan.testing.binaries import require

FOLDER = Path(__file__).parents[2] / "examples" / "04-sample-scheduler-extender"
README = (FOLDER / "README.md").read_text()
NAME = "sample-scheduler-extender"
ACCOUNT = User.service_account("kube-system", NAME)
LEASES = "coordination.k8s.io/v1/Lease"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def config_map(release: str) -> dict[str, Any]:
    """The ConfigMap that the README's `kubectl create configmap --from-file` creates."""
    (command,) = (line for line in README.splitlines() if f"--from-file={folder_of(release)}/" in line)
    files = [FOLDER / name for name in re.findall(r"--from-file=(\S+)", command)]
    meta = {"name": "scheduler-extender", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {f.name: f.read_text() for f in files}}


class Deployed:
    """The objects of the Deployment on the API server, and its scheduler as a process."""

    def __init__(self, api: KubeApi, release: str) -> None:
        self._api = api
        self._objects = [
            config_map(release),
            *yaml.safe_load_all((FOLDER / folder_of(release) / "deployment.yaml").read_text()),
        ]
        for obj in self._objects:
            api.create(obj)

    def remove(self) -> None:
        for obj in self._objects:
            meta = obj["metadata"]
            self._api.delete(f"{obj['apiVersion']}/{obj['kind']}", meta["name"], meta.get("namespace", ""))
        self._api.delete(LEASES, NAME, "kube-system")

    def scheduler(self, folder: Path, extender: str, kubeconfig: Path) -> Process:
        """With the paths of mounted files on this machine, and the extender's port."""
        container, side_car = self._objects[-1]["spec"]["template"]["spec"]["containers"]
        assert side_car["name"] == NAME
        (mount,) = container["volumeMounts"]
        for file, text in self._objects[0]["data"].items():
            text = text.replace("http://localhost:8888", extender).replace(mount["mountPath"], str(folder))
            (folder / file).write_text(text)
        first, *rest = container["command"]
        rest = [flag.replace(mount["mountPath"], str(folder)) for flag in rest]
        known = {"stowplan": [sys.executable, "-m", "stowplan"], "kube-scheduler": require(["kube-scheduler"])}
        identity = [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
        if (
            first == "kube-scheduler"
        ):  # It looks for the cluster it runs in, or for a file that its configuration names.
            config = folder / "scheduler-extender-config.yaml"
            config.write_text(f"{config.read_text()}clientConnection: {{kubeconfig: {kubeconfig}}}\n")
        command = [*known[first], *rest, *identity, "--secure-port=0"]
        return Process(first, command, folder / "scheduler.log", env={"KUBECONFIG": str(kubeconfig)})


@pytest.mark.parametrize("release", ["v1.18", "v1.36"])
def test_as_a_deployment(
    release: str, control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path, start: Start
) -> None:
    kube_api.create_all(node(f"node-{i}") for i in range(3))
    extender = start(ExampleExtender(tmp_path, f"--plugin={FOLDER}/plugin.py:Lucky"))
    deployed = Deployed(kube_api, release)
    try:
        kubeconfig = control_plane.kubeconfig(ACCOUNT, certificate=True)
        with deployed.scheduler(tmp_path, extender.url, kubeconfig):
            kube_api.create_all(pod(f"gambler-{i}", namespace, schedulerName=NAME) for i in range(4))
            kube_api.create(pod("another", namespace))
            wait_until(
                lambda: [home(kube_api, namespace, i) for i in range(4)] == ["node-2", "node-0", "node-0", "node-0"]
            )
            assert kube_api.get(LEASES, NAME, "kube-system")["spec"]["holderIdentity"]
    finally:
        deployed.remove()
    assert not kube_api.get("Pod", "another", namespace)["spec"].get("nodeName"), "it selects another scheduler"
    verbs = [extender.calls(f"{namespace}/gambler-{i}") for i in range(4)]
    assert sorted(verbs) == [["filter"], *[["filter", "prioritize"]] * 3]


def home(kube_api: KubeApi, namespace: str, i: int) -> str | None:
    name: str | None = kube_api.get("Pod", f"gambler-{i}", namespace)["spec"].get("nodeName")
    return name
