"""Configurations of every version: kube-scheduler starts with the converted one, ours with the original."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.conversion import samples
from tests.extenders import WebExtender

from stowplan.testing import (
    ADMIN,
    SCHEDULER,
    ControlPlane,
    KubeApi,
    KubeScheduler,
    Process,
    User,
    free_port,
    node,
    pod,
)

pytestmark = pytest.mark.e2e

PLUGIN = """
from stowplan import Plugin

class Sample(Plugin):
    name = "sample-plugin"

    def pre_filter(self, state, pod, nodes):
        return None

    def filter(self, state, pod, node):
        return None

    def pre_bind(self, state, pod, node_name):
        assert self.args["favorite_number"] == 7
"""


def without_strangers(value: Any) -> Any:
    """The same without the plugins that are in no tree, which the stock scheduler does not have."""
    if isinstance(value, dict):
        return {key: without_strangers(item) for key, item in value.items()}
    if isinstance(value, list):
        own = [item for item in value if not (isinstance(item, dict) and item.get("name") in samples.PLUGINS)]
        return [without_strangers(item) for item in own]
    return value


@pytest.mark.parametrize("name", samples.NAMES)
def test_kube_scheduler_starts_with_what_they_are_converted_to(control_plane: ControlPlane, name: str) -> None:
    config = without_strangers(samples.loaded(name).converted.value)
    with KubeScheduler(control_plane, config=config) as scheduler:
        assert scheduler.process.alive


@pytest.fixture
def extender() -> Iterator[WebExtender]:
    """Lets all nodes pass, whatever it is sent, under the paths of the samples."""

    def everything(request: Any) -> Any:
        return {"NodeNames": request.get("NodeNames"), "Nodes": request.get("Nodes")}

    with WebExtender({"/filter": everything, "/api/scheduler/filter": everything}) as running:
        yield running


Start = Callable[..., Process]


@pytest.fixture
def start(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Start]:
    """Starts `stowplan scheduler` with a sample as it is, but for the places where things are on this machine."""

    def start(name: str, *flags: str, places: dict[str, str] | None = None, user: User = SCHEDULER) -> Process:
        kubeconfig = control_plane.kubeconfig(user)
        command = [sys.executable, "-m", "stowplan", "scheduler", f"--kubeconfig={kubeconfig}", "--v=2", *flags]
        if name:
            text = samples.text_of(name)
            for sample, here in {samples.KUBECONFIG: str(kubeconfig), **(places or {})}.items():
                text = text.replace(sample, here)
            file = tmp_path / samples.GIVEN[name].name
            file.write_text(text)
            command.append(f"--config={file}")
        process = Process(name or "flags", command, tmp_path / f"{name or 'flags'}.log")
        return running.enter_context(process)

    with ExitStack() as running:
        yield start


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as reply:
        return str(reply.read().decode())


def bound(api: KubeApi, namespace: str, scheduler: str = "default-scheduler") -> bool:
    """Whether a pod for that scheduler arrives."""
    api.create(pod(f"for-{scheduler}", namespace, cpu="1", schedulerName=scheduler))
    return f"for-{scheduler}" in api.wait_for_pods_bound(namespace, count=1)


def test_a_policy_in_a_file_and_the_probes_of_its_time(
    kube_api: KubeApi, namespace: str, start: Start, extender: WebExtender, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(samples.text_of("policy-extender-only").replace("http://127.0.0.1:8888", extender.prefix))
    kube_api.create(node("n1", cpu="4"))
    plain = f"127.0.0.1:{free_port()}"
    flags = ["--bind-address=127.0.0.1", f"--secure-port={free_port()}", "--leader-elect=true"]
    addresses = f"healthzBindAddress: {plain}\nmetricsBindAddress: {plain}\nalgorithmSource:"
    start("v1alpha1-policy-file", *flags, places={samples.POLICY: str(policy), "algorithmSource:": addresses})
    assert bound(kube_api, namespace)
    assert extender.of("/filter")[0]["NodeNames"] == ["n1"]
    assert get(f"http://{plain}/healthz") == "ok"
    assert "scheduler_schedule_attempts_total" in get(f"http://{plain}/metrics")
    kube_api.delete("coordination.k8s.io/v1/Lease", "kube-scheduler", "kube-system")


def test_a_plugin_and_a_lock_of_ones_own(kube_api: KubeApi, namespace: str, start: Start, tmp_path: Path) -> None:
    plugin = tmp_path / "sample.py"
    plugin.write_text(PLUGIN)
    kube_api.create(node("n1", cpu="4"))
    start("v1alpha1-plugins", f"--plugin={plugin}:Sample", "--secure-port=0", "--port=0")
    assert bound(kube_api, namespace, "sample-scheduler")
    lease = ("coordination.k8s.io/v1/Lease", "sample-scheduler", "kube-system")
    assert kube_api.get(*lease)["spec"]["holderIdentity"]
    kube_api.delete(*lease)


def test_a_policy_in_a_config_map_by_the_flags_of_its_time(
    kube_api: KubeApi, namespace: str, start: Start, extender: WebExtender
) -> None:
    text = samples.text_of("policy-plain").replace("http://127.0.0.1:12345", extender.prefix)
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "policy", "namespace": namespace}}
    kube_api.create({**head, "data": {"policy.cfg": text}})
    kube_api.create(node("n1", cpu="4"))
    port = free_port()
    flags = ["--policy-configmap=policy", f"--policy-configmap-namespace={namespace}", "--scheduler-name=by-flags"]
    process = start(
        "", *flags, "--address=127.0.0.1", f"--port={port}", "--secure-port=0", "--leader-elect=false", user=ADMIN
    )
    assert bound(kube_api, namespace, "by-flags")
    assert len(extender.of("/api/scheduler/filter")[0]["Nodes"]["items"]) == 1
    assert get(f"http://127.0.0.1:{port}/healthz") == "ok"
    assert "Flag --port has been deprecated" in process.log.read_text()


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [
        ("v1alpha2", "packing"),
        ("v1beta1", "default-scheduler"),
        ("v1beta2", "no-scoring"),
        ("v1beta3", "default-scheduler"),
    ],
)
def test_later_versions_as_they_are(kube_api: KubeApi, namespace: str, start: Start, name: str, scheduler: str) -> None:
    kube_api.create(node("n1", cpu="4", labels={"pool": "a"}))
    start(name, "--leader-elect=false", "--secure-port=0", "--port=0")
    assert bound(kube_api, namespace, scheduler)


def test_no_policy_there(start: Start, namespace: str) -> None:
    process = start("", "--policy-configmap=nothing", f"--policy-configmap-namespace={namespace}", user=ADMIN)
    assert process.wait() == 1
    assert f'couldn\'t get policy config map {namespace}/nothing: configmaps "nothing" not found' in (
        process.log.read_text()
    )
