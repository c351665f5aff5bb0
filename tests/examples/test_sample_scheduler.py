"""A user's scheduler with a plugin, deployed from the manifests of v1.16 and v1.36."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.examples.static_pods import folder_of

from stowplan.testing import ControlPlane, KubeApi, Process, User, wait_until
from stowplan.testing.objects import node

FOLDER = Path(__file__).parents[2] / "examples" / "03-sample-scheduler"
ACCOUNT = User.service_account("kube-system", "sample-scheduler-sa")
EVENTS, LEASES = "events.k8s.io/v1/Event", "coordination.k8s.io/v1/Lease"
POD = "test-scheduler-6d779d9465-vsvxh"
NOT_IN_THE_ROLE = (
    "csidrivers",
    "csistoragecapacities",
    "deviceclasses",
    "namespaces",
    "resourceclaims",
    "resourceslices",
)


class Deployed:
    """The objects of a manifest on the API server, and the scheduler of its Deployment as a process."""

    def __init__(self, api: KubeApi, release: str) -> None:
        self._api = api
        self._objects = list(yaml.safe_load_all((FOLDER / folder_of(release) / "sample-scheduler.yaml").read_text()))
        for obj in self._objects:
            api.create(obj)

    def one(self, kind: str) -> dict[str, Any]:
        (found,) = (obj for obj in self._objects if obj["kind"] == kind)
        return found

    def remove(self) -> None:
        for obj in self._objects:
            meta = obj["metadata"]
            self._api.delete(f"{obj['apiVersion']}/{obj['kind']}", meta["name"], meta.get("namespace", ""))
        for lease in self._api.list(LEASES, "kube-system"):
            if lease["metadata"]["name"] == "sample-scheduler":
                self._api.delete(LEASES, "sample-scheduler", "kube-system")

    def command(self, folder: Path) -> list[str]:
        """The container's command, with the path of the mounted file on this machine."""
        (container,) = self.one("Deployment")["spec"]["template"]["spec"]["containers"]
        name, *flags = container["args"]
        assert name == "sample-scheduler-framework"
        for file, text in self.one("ConfigMap")["data"].items():
            (folder / file).write_text(text)
        flags = [flag.replace("/etc/kubernetes", str(folder)) for flag in flags if "--bind-address" not in flag]
        return [sys.executable, str(FOLDER / "scheduler.py"), *flags, "--secure-port=0", "--port=0"]


@pytest.fixture(params=["v1.16", "v1.36"])
def deployed(request: pytest.FixtureRequest, kube_api: KubeApi) -> Iterator[Deployed]:
    deployed = Deployed(kube_api, request.param)
    yield deployed
    deployed.remove()


def replica(namespace: str) -> dict[str, Any]:
    """A pod of the Deployment `test-scheduler`, as its ReplicaSet would make it."""
    template = yaml.safe_load((FOLDER / "test-scheduler.yaml").read_text())["spec"]["template"]
    meta = {"name": POD, "namespace": namespace, **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


@pytest.mark.e2e
@pytest.mark.slow
def test_it_schedules_and_logs_each_step(
    deployed: Deployed, control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path
) -> None:
    master = node("k8s-master")
    master["spec"] = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
    kube_api.create_all([master, node("node01"), node("node02")])
    env = {"KUBECONFIG": str(control_plane.kubeconfig(ACCOUNT, certificate=True))}
    with Process("sample-scheduler", deployed.command(tmp_path), tmp_path / "log", env=env) as scheduler:
        kube_api.create(replica(namespace))
        wait_until(lambda: kube_api.get("Pod", POD, namespace)["spec"].get("nodeName"), what="the binding")
        home = kube_api.get("Pod", POD, namespace)["spec"]["nodeName"]
        wait_until(lambda: kube_api.list(EVENTS, namespace), what="the event")
        (event,) = kube_api.list(EVENTS, namespace)
        holder = kube_api.get(LEASES, "sample-scheduler", "kube-system")["spec"]["holderIdentity"]
        scheduler.stop()
        assert scheduler.returncode == 0
    log = scheduler.log.read_text()
    assert_steps_logged(log, namespace, home)
    assert "args: #326CE5, 7, thanks to tanjunchen" in log
    assert (event["reason"], event["reportingController"]) == ("Scheduled", "sample-scheduler")
    assert event["note"] == f"Successfully assigned {namespace}/{POD} to {home}"
    assert holder
    lacking = {kind for kind in NOT_IN_THE_ROLE if re.search(rf'resource="{kind}" err="Forbidden', log)}
    assert lacking == (
        set(NOT_IN_THE_ROLE) if deployed.one("ClusterRole")["rules"][0]["verbs"][0] == "create" else set()
    )


def assert_steps_logged(log: str, namespace: str, home: str) -> None:
    """In this order, with other lines in between."""
    filters = [rf"filter pod: {POD}, node: {name}" for name in ("node01", "node02")]
    steps = [
        rf'"Add event for unscheduled pod" pod="{namespace}/{POD}"',
        rf'"Attempting to schedule pod" pod="{namespace}/{POD}"',
        rf"prefilter pod: {POD}\n",
        *filters,
        rf'prebind node info: {{.*"kubernetes.io/hostname": "{home}"',
        rf'"Attempting to bind pod to node" pod="{namespace}/{POD}" node="{home}"',
        rf'"Successfully bound pod to node" pod="{namespace}/{POD}" node="{home}" evaluatedNodes=3 feasibleNodes=2',
    ]
    assert re.search(".*".join(steps), log, re.DOTALL), log
