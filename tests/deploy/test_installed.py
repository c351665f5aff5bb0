"""The chart installed by helm, and its pods' commands run with the configuration and the rights that it gives them.

There is no kubelet: a process stands for a pod, with files where volumes would be.
"""

from __future__ import annotations

import ssl
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.conftest import binary, run
from tests.deploy.rendered import DEPLOY

from stowplan.scaffold import Names, files_of
from stowplan.testing import ControlPlane, KubeApi, Process, User, free_port, node, pod, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NAMESPACE = "installed"
CODE = files_of(Names.of("ranking"))["src/ranking/plugin.py"]
VALUES: dict[str, Any] = {
    "mode": "both",
    "plugins": {"files": {"ranking.py": CODE}, "load": ["ranking.py:Ranking"]},
    "extender": {
        "bind": True,
        "urlPrefix": "/ranking",
        "config": {"verbs": {"bind": "place"}, "httpTimeout": "3s", "serving": {"bindAddress": "127.0.0.1"}},
    },
}


class Release:
    """What was installed."""

    def __init__(self, control_plane: ControlPlane, api: KubeApi, folder: Path, notes: str) -> None:
        self._control_plane = control_plane
        self._api = api
        self._folder = folder
        self.notes = notes

    def start(self, component: str, *flags: str) -> Process:
        """A component's container as a process, as its ServiceAccount: volumes are folders, and flags are added."""
        spec = self._spec(component)
        mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
        folders = {mounts[volume["name"]]: self._volume(volume) for volume in spec["volumes"] if "configMap" in volume}
        user = User.service_account(NAMESPACE, spec["serviceAccountName"])
        kubeconfig = self._control_plane.kubeconfig(user, certificate=True)
        args = [_moved(arg, folders) for arg in spec["containers"][0]["args"]]
        for folder in folders.values():
            for file in folder.glob("*.yaml"):
                file.write_text(_moved(file.read_text(), folders))
        command = [sys.executable, "-m", "stowplan", *args, f"--kubeconfig={kubeconfig}", *flags]
        return Process(component, command, self._folder / f"{component}.log")

    def probe(self, component: str, port: int) -> None:
        """Waits until each probe succeeds on that port, as the kubelet sends it."""
        container = self._spec(component)["containers"][0]
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = container[kind]["httpGet"]
            url = f"{probe.get('scheme', 'HTTP').lower()}://127.0.0.1:{port}{probe['path']}"
            wait_until(lambda url=url: fetched(url), what=f"{component}'s {kind}")

    def _spec(self, component: str) -> dict[str, Any]:
        deployment = self._api.get("apps/v1/Deployment", f"demo-stowplan-{component}", NAMESPACE)
        spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
        return spec

    def _volume(self, volume: dict[str, Any]) -> Path:
        name = volume["configMap"]["name"]
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        for file, text in self._api.get("ConfigMap", name, NAMESPACE)["data"].items():
            (folder / file).write_text(text)
        return folder


def _moved(text: str, folders: dict[str, Path]) -> str:
    for path, folder in folders.items():
        text = text.replace(f"{path}/", f"{folder}/")
    return text


@pytest.fixture
def release(control_plane: ControlPlane, kube_api: KubeApi, tmp_path: Path) -> Iterator[Release]:
    """Installed for the test, and uninstalled by helm after it, which leaves nothing behind."""
    where = ["--namespace", NAMESPACE, "--kubeconfig", str(control_plane.kubeconfig())]
    command = [binary("helm"), "install", "demo", DEPLOY / "chart", "--create-namespace", "--values", "-", *where]
    made = run(*command, given=yaml.safe_dump(VALUES))
    assert made.returncode == 0, made.stderr
    yield Release(control_plane, kube_api, tmp_path, made.stdout.partition("NOTES:")[2])
    gone = run(binary("helm"), "uninstall", "demo", *where)
    assert gone.returncode == 0, gone.stderr


@pytest.fixture(autouse=True)
def _nodes(kube_api: KubeApi) -> None:
    kube_api.create(node("low", labels={"example.com/rank": "1"}))
    kube_api.create(node("high", labels={"example.com/rank": "2"}))
    kube_api.create(node("closed", labels={"example.com/rank": "3", "example.com/closed": "true"}))


def test_the_scheduler_schedules(release: Release, kube_api: KubeApi, namespace: str) -> None:
    assert "schedulerName: stowplan" in release.notes
    port = free_port()
    with release.start("scheduler", f"--secure-port={port}"):
        release.probe("scheduler", port)
        kube_api.create(pod("mine", namespace, schedulerName="stowplan"))
        assert kube_api.wait_for_pods_bound(namespace, count=1) == {"mine": "high"}
        lease = kube_api.get("coordination.k8s.io/v1/Lease", "demo-stowplan-scheduler", NAMESPACE)
        assert lease["spec"]["holderIdentity"]
    kube_api.delete("coordination.k8s.io/v1/Lease", "demo-stowplan-scheduler", NAMESPACE)


def test_the_extender_binds_what_kube_scheduler_sends(
    release: Release, kube_api: KubeApi, namespace: str, start_kube_scheduler: Any
) -> None:
    port, metrics = free_port(), free_port()
    stanza = yaml.safe_load(release.notes[release.notes.index("  extenders:\n") :])
    (entry,) = stanza["extenders"]
    assert (entry["bindVerb"], entry["urlPrefix"]) == ("place", "http://ADDRESS:8888/ranking")
    assert entry["httpTimeout"] == "3s"
    entry["urlPrefix"] = f"http://127.0.0.1:{port}/ranking"
    with release.start("extender", f"--port={port}", f"--metrics-port={metrics}"):
        release.probe("extender", metrics)
        start_kube_scheduler(config={"extenders": [entry]})
        kube_api.create(pod("theirs", namespace))
        assert kube_api.wait_for_pods_bound(namespace, count=1) == {"theirs": "high"}
        counted = 'stowplan_extender_requests_total{code="200",verb="bind"} 1\n'
        wait_until(lambda: counted in fetched(f"http://127.0.0.1:{metrics}/metrics"), what="the count of binds")


def fetched(url: str) -> str:
    """Body of a successful reply; empty on errors."""
    unverified = ssl._create_unverified_context()  # As the kubelet does.
    try:
        with urllib.request.urlopen(url, context=unverified) as reply:
            return str(reply.read().decode())
    except OSError:
        return ""
