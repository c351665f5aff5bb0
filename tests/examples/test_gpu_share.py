"""GPUs in slices: one plugin offline, behind the stock kube-scheduler, and inside of our own scheduler."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.builders import Json
from tests.e2e.extending import wait_for_failure
from tests.examples.conftest import Start
from tests.examples.static_pods import ExampleExtender

from stowplan.testing import SCHEDULER, ControlPlane, KubeApi, Process, User, wait_until

FOLDER = Path(__file__).parents[2] / "examples" / "06-gpu-share"
README = (FOLDER / "README.md").read_text()
PLUGIN = f"--plugin={FOLDER}/plugin.py:GpuShare"
BINDS = ("--bind-verb=bind", "--bind-scheduler-name=gpu-share", "--bind-scheduler-name=default-scheduler")
ACCOUNT = User.service_account("kube-system", "gpu-share")
MEMORY, INDEX, TIME = (f"example.com/gpu-{name}" for name in ("memory", "index", "assume-time"))
OFFLINE = "--config=scheduler-config.yaml --plugin=./plugin.py:GpuShare"
SIZE = 16
FULL = "node(s) had no GPU with that much memory left"
SMALL = "node(s) had no GPU of that size"


def objects(file: str) -> list[Json]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


class Cluster:
    """The nodes of the example on an API server, and its pods one by one."""

    def __init__(self, api: KubeApi, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._pods = {each["metadata"]["name"]: each for each in objects("pods.yaml")}
        api.create_all(objects("cluster.yaml"))

    def create(self, *names: str) -> None:
        pods = [self._pods[name] for name in names]
        self.api.create_all([{**pod, "metadata": {**pod["metadata"], "namespace": self.namespace}} for pod in pods])

    def create_many(self, count: int, memory: int) -> None:
        """At once, and with other needs than those of the example."""
        names = [f"many-{number}" for number in range(count)]
        self._pods |= {name: self.like_four(name, memory) for name in names}
        self.create(*names)

    def like_four(self, name: str, memory: int) -> Json:
        pod = copy.deepcopy(self._pods["four"])
        pod["metadata"]["name"] = name
        for amounts in pod["spec"]["containers"][0]["resources"].values():
            amounts[MEMORY] = str(memory)
        return pod

    def slices(self, count: int) -> dict[str, tuple[str, str]]:
        """Where so many pods are, by name: (node, GPU). None of the GPUs is given away twice, however it came to it."""
        self.api.wait_for_pods_bound(self.namespace, count)
        used: Counter[tuple[str, str]] = Counter()
        found: dict[str, tuple[str, str]] = {}
        for pod in self.api.list("Pod", self.namespace):
            if "nodeName" not in pod["spec"]:
                continue
            name, notes = pod["metadata"]["name"], pod["metadata"]["annotations"]
            assert abs(datetime.now(UTC) - datetime.fromisoformat(notes[TIME])) < timedelta(minutes=5)
            found[name] = pod["spec"]["nodeName"], notes[INDEX]
            used[found[name]] += int(pod["spec"]["containers"][0]["resources"]["requests"][MEMORY])
        assert len(found) == count
        assert {node for node, _ in found.values()} <= {"ant", "bee"}
        assert {gpu for _, gpu in found.values()} <= {"0", "1"}
        assert max(used.values()) <= SIZE
        return found

    def delete(self, *names: str) -> None:
        for name in names:
            self.api.delete("Pod", name, self.namespace, gracePeriodSeconds=0)


@pytest.fixture
def cluster(kube_api: KubeApi, namespace: str) -> Cluster:
    return Cluster(kube_api, namespace)


@pytest.fixture
def role(kube_api: KubeApi) -> Iterator[None]:
    """What the extender may do by its manifest; our own scheduler may do the same besides what schedulers may."""
    name = "gpu-share-extender"
    mine = [each for each in objects("v1.36/gpu-share.yaml") if each["metadata"]["name"] == name]
    assert [each["kind"] for each in mine] == ["ClusterRole", "ClusterRoleBinding"]
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": SCHEDULER.name}
    mine[1]["subjects"].append(user)
    for each in mine:
        kube_api.create(each)
    yield
    for each in mine:
        kube_api.delete(f"{each['apiVersion']}/{each['kind']}", name)


def share(cluster: Cluster, full: str, too_large: str) -> None:
    """Pods come one by one, then several at once, and one goes; all go, and many come."""
    cluster.create("twenty", "six-0")
    wait_for_failure(cluster.api, cluster.namespace, "twenty", f"0/3 nodes are available: {too_large}.")
    first = cluster.slices(1)["six-0"]
    cluster.create("six-1")
    assert cluster.slices(2)["six-1"] == first  # The fullest that will do
    cluster.create(*(f"six-{number}" for number in range(2, 10)))
    slices = cluster.slices(8)
    assert set(Counter(slices.values()).values()) == {2}
    waiting = {f"six-{number}" for number in range(10)} - set(slices)
    for name in waiting:
        wait_for_failure(cluster.api, cluster.namespace, name, f"0/3 nodes are available: {full}.")
    # There are 8 left on each node and 4 on each GPU.
    cluster.create("four")
    home = cluster.slices(9)["four"]
    leaving = next(name for name, where in slices.items() if where != home)
    cluster.delete(leaving)
    slices = cluster.slices(9)
    assert len(waiting & set(slices)) == 1
    cluster.delete("twenty", *(waiting | set(slices)))
    cluster.create_many(30, memory=3)
    assert set(Counter(cluster.slices(20).values()).values()) == {5}


@pytest.mark.e2e
@pytest.mark.slow
def test_behind_kube_scheduler(
    cluster: Cluster,
    role: None,
    control_plane: ControlPlane,
    tmp_path: Path,
    start: Start,
    start_kube_scheduler: Callable[..., Any],
) -> None:
    access = f"--kubeconfig={control_plane.kubeconfig(ACCOUNT, certificate=True)}"
    extender = start(
        ExampleExtender(tmp_path, PLUGIN, access, *BINDS, "--url-prefix=/gpushare-scheduler", "--log-requests")
    )
    (config,) = objects("v1.36/scheduler-config.yaml")
    config["extenders"][0]["urlPrefix"] = f"{extender.url}/gpushare-scheduler"
    config["leaderElection"] = {"leaderElect": False}
    start_kube_scheduler(config=config)
    share(cluster, full=f"1 {SMALL}, 2 {FULL}", too_large=f"3 {SMALL}")
    extender.wait_for_calls(f"{cluster.namespace}/six-1", ["filter", "prioritize", "bind"])
    log = extender.process.log.read_text()
    assert re.search(rf"{cluster.namespace}/six-0 gets 6 on GPU 0 of (ant|bee)", log)
    assert rf"\"FailedAndUnresolvableNodes\":{{\"cow\":\"{SMALL}\"}}" in log
    held = 'stowplan_extender_reservations{plugin="GpuShare"}'
    wait_until(lambda: extender.metrics()[held] == 0, what="the confirmation")


@pytest.mark.e2e
@pytest.mark.slow
def test_inside_our_scheduler(cluster: Cluster, role: None, control_plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = control_plane.kubeconfig(SCHEDULER, certificate=True)
    config = f"--config={FOLDER}/scheduler-config.yaml"
    command = [sys.executable, "-m", "stowplan", "scheduler", config, PLUGIN, "--secure-port=0", "--v=2"]
    with Process("stowplan", command, tmp_path / "log", env={"KUBECONFIG": str(kubeconfig)}) as scheduler:
        lacking = "Insufficient example.com/gpu-memory"
        share(cluster, full=f"1 {lacking}, 2 {FULL}", too_large=f"1 {lacking}, 2 {SMALL}")
        scheduler.stop()
    # Offline, on what the cluster holds now: each node has 2 left, and no GPU.
    (tmp_path / "two.json").write_text(json.dumps(cluster.like_four("two", 2)))
    output = run(f"stowplan simulate --from-cluster --kubeconfig={kubeconfig} -f {tmp_path}/two.json {OFFLINE}").stdout
    expected = f"0/3 nodes are available: 1 {lacking}, 2 {FULL}."
    assert re.search(rf"default/two:\n +{re.escape(expected)}", output), output
    log = scheduler.log.read_text()
    assert re.search(rf"{cluster.namespace}/six-0 gets 6 on GPU 0 of (ant|bee)", log)
    assert re.search(rf'"Successfully bound pod to node" pod="{cluster.namespace}/four"', log)


@pytest.mark.e2e
@pytest.mark.slow
def test_two_may_pass_for_the_last_slice_and_one_gets_it(
    cluster: Cluster, role: None, control_plane: ControlPlane, tmp_path: Path, start: Start
) -> None:
    """kube-scheduler may filter pods while others are being bound."""
    access = f"--kubeconfig={control_plane.kubeconfig(ACCOUNT, certificate=True)}"
    extender = start(ExampleExtender(tmp_path, PLUGIN, access, *BINDS))
    cluster.create_many(3, memory=16)
    pods = [cluster.api.get("Pod", f"many-{number}", cluster.namespace) for number in range(3)]
    for pod in pods:
        assert post(extender, "filter", {"Pod": pod, "NodeNames": ["ant"]})["NodeNames"] == ["ant"]
    errors = []
    for meta in (pod["metadata"] for pod in pods):
        names = {"PodName": meta["name"], "PodNamespace": cluster.namespace, "PodUID": meta["uid"]}
        errors.append(post(extender, "bind", {**names, "Node": "ant"})["Error"])
    assert errors == ["", "", f"{FULL}, others were faster"]
    assert cluster.slices(2) == {"many-0": ("ant", "0"), "many-1": ("ant", "1")}
    assert "annotations" not in cluster.api.get("Pod", "many-2", cluster.namespace)["metadata"]


def post(extender: ExampleExtender, verb: str, body: Json) -> Json:
    with urllib.request.urlopen(f"{extender.url}/{verb}", json.dumps(body).encode(), timeout=10) as reply:
        return dict(json.loads(reply.read()))


def run(command: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=FOLDER,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_policy_says_the_same() -> None:
    (command,) = re.findall(r"^```sh\n(stowplan config [^\n]*)\n```$", README, re.MULTILINE)
    (written,) = yaml.safe_load(run(command).stdout)["extenders"]
    (config,) = objects("v1.36/scheduler-config.yaml")
    assert written | {"httpTimeout": "5s"} == config["extenders"][0]
