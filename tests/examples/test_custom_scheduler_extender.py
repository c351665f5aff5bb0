"""An extender that filters, prioritizes and binds, over HTTP and HTTPS; its timeouts; and a Policy file of v1.10."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.extending import failures, wait_for_failure
from tests.examples.conftest import Start
from tests.examples.static_pods import ExampleExtender, StaticPod, folder_of

from stowplan.testing import SCHEDULER, ControlPlane, KubeApi, Process, node, pod, wait_until

FOLDER = Path(__file__).parents[2] / "examples" / "05-custom-scheduler-extender"
README = (FOLDER / "README.md").read_text()
COMMANDS = re.findall(r"^```sh\n(stowplan config [^\n]*)\n```$", README, re.MULTILINE)
WRITTEN = ("scheduler-config.yaml", "scheduler-config-https.yaml", "converted-policy.yaml")
HERE = "http://127.0.0.1:12345"
TEAM = "example.com/team"
OTHERS = "node(s) belong to another team"
BINDING = "binding {}/{} to {}"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def team_nodes() -> list[dict[str, Any]]:
    """A node of the red team, one of the blue team, and a larger shared one."""
    return [node("ant", labels={TEAM: "red"}), node("bee", labels={TEAM: "blue"}), node("cow", cpu="32")]


def manifest_flags(control_plane: ControlPlane) -> list[str]:
    """The flags of the extender's static pod without the port, with the paths of files on this machine."""
    manifest = yaml.safe_load((FOLDER / "v1.36" / "custom-scheduler-extender.yaml").read_text())
    command, *flags = manifest["spec"]["containers"][0]["args"]
    assert command == "extender"
    flags.remove("--port=12345")
    places = {
        "/etc/kubernetes/custom-scheduler-extender": str(FOLDER),
        "/etc/kubernetes/scheduler.conf": str(control_plane.kubeconfig(SCHEDULER)),
    }
    for there, here in places.items():
        flags = [flag.replace(there, here) for flag in flags]
    return flags


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_filter_prioritize_and_bind(
    scheme: str, control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path, start: Start
) -> None:
    kube_api.create_all(team_nodes())
    flags, changes = manifest_flags(control_plane), {}
    if scheme == "https":
        pair = control_plane.authority.server("custom-scheduler-extender")
        flags += [f"--tls-cert-file={pair.certificate}", f"--tls-private-key-file={pair.key}"]
        changes = {"scheduler-config.yaml": "scheduler-config-https.yaml"}
        (tmp_path / "etc" / "pki").mkdir(parents=True)
        (tmp_path / "etc" / "pki" / "ca.crt").write_text(control_plane.authority.file.read_text())
    extender = start(ExampleExtender(tmp_path, *flags, scheme=scheme))
    changes |= {HERE.replace("http", scheme): extender.url}
    start(StaticPod(FOLDER / "v1.36", tmp_path / "etc", control_plane, changes))
    colours = {"r": {TEAM: "red"}, "n": {}}
    kube_api.create_all([pod(name, namespace, labels=labels) for name, labels in colours.items()])
    large = pod("large", namespace, labels={TEAM: "green"}, cpu="64")
    small = pod("small", namespace, labels={TEAM: "green"}, nodeSelector={TEAM: "blue"})
    kube_api.create_all([large, small])
    assert kube_api.wait_for_pods_bound(namespace, count=2) == {"r": "ant", "n": "cow"}
    wait_for_failure(kube_api, namespace, "large", "0/3 nodes are available: 3 Insufficient cpu.")
    message = wait_for_failure(
        kube_api, namespace, "small", "0/3 nodes are available: 1 node(s) belong to another team, 2 "
    )
    assert "3 Preemption is not helpful for scheduling" in message
    extender.wait_for_calls(f"{namespace}/r", ["filter", "prioritize", "bind"])
    extender.wait_for_calls(f"{namespace}/n", ["filter", "bind"])  # One node is left: nothing to prefer.
    log = extender.process.log.read_text()
    for name, where in (("r", "ant"), ("n", "cow")):
        assert BINDING.format(namespace, name, where) in log
    assert rf"\"FailedAndUnresolvableNodes\":{{\"bee\":\"{OTHERS}\"}}" in log


def test_timeouts(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    start: Start,
    start_kube_scheduler: Callable[..., Any],
) -> None:
    """The scheduler waits half a second, the extender assumes a minute. Without the extender `big` scores highest."""
    kube_api.create_all([node("big", cpu="32"), node("small", cpu="4")])
    access = f"--kubeconfig={control_plane.kubeconfig(SCHEDULER)}"
    flags = (
        f"--plugin={FOLDER}/slow.py:Slow",
        "--url-prefix=/api/scheduler",
        "--bind-verb=bind",
        "--http-timeout=1m",
        access,
    )
    extender = start(ExampleExtender(tmp_path, *flags))
    (entry,) = yaml.safe_load((FOLDER / "v1.36" / "scheduler-config.yaml").read_text())["extenders"]
    entry |= {"urlPrefix": f"{extender.url}/api/scheduler", "httpTimeout": "500ms"}
    scheduler = start_kube_scheduler(config={"extenders": [entry]}, flags=["-v=5"])

    def labels(verb: str) -> dict[str, str]:
        return {"example.com/prefer": "small", "example.com/slow": verb}

    kube_api.create(pod("quick", namespace, labels=labels("")))
    assert kube_api.wait_for_pods_bound(namespace, count=1) == {"quick": "small"}
    kube_api.create(pod("unscored", namespace, labels=labels("prioritize")))
    assert kube_api.wait_for_pods_bound(namespace, count=2)["unscored"] == "big"
    assert failures(kube_api, namespace, "unscored") == []
    assert "No score given by this extender" in scheduler.process.log.read_text()
    kube_api.create(pod("stuck", namespace, labels=labels("filter")))
    message = wait_for_failure(kube_api, namespace, "stuck", "deadline exceeded")
    assert f"`{message.replace(extender.url, HERE)}`" in README
    assert "nodeName" not in kube_api.get("Pod", "stuck", namespace)["spec"]


@pytest.mark.parametrize("release", ["v1.10", "v1.36"])
def test_the_policy(
    release: str,
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    start: Start,
    start_kube_scheduler: Callable[..., Any],
) -> None:
    """`stowplan scheduler` reads it unchanged, kube-scheduler reads the converted configuration."""
    kube_api.create_all(team_nodes())
    flags = ("--url-prefix=/api/scheduler", "--log-requests")
    extender = start(ExampleExtender(tmp_path, f"--plugin={FOLDER}/plugin.py:Teams", *flags))
    if release == "v1.10":
        start(StaticPod(FOLDER / folder_of(release), tmp_path / "etc", control_plane, {HERE: extender.url}))
    else:
        converted = (FOLDER / release / "converted-policy.yaml").read_text().replace(HERE, extender.url)
        start_kube_scheduler(config=yaml.safe_load(converted))
    port = {"name": "app", "image": "example.com/app:1", "ports": [{"containerPort": 80, "hostPort": 8080}]}
    twin = {"containers": [port], "nodeSelector": {"kubernetes.io/hostname": "ant"}}
    kube_api.create_all([pod(f"twin-{i}", namespace, labels={TEAM: "red"}, **twin) for i in range(2)])
    kube_api.create(pod("red", namespace, labels={TEAM: "red"}, cpu="1"))
    kube_api.create(pod("none", namespace, cpu="64"))
    kube_api.create(pod("blue", namespace, labels={TEAM: "blue"}, nodeSelector={TEAM: "red"}))
    # No predicate checks host ports. The extender does not prioritize, LeastRequestedPriority does.
    bound = kube_api.wait_for_pods_bound(namespace, count=3)
    assert bound == {"twin-0": "ant", "twin-1": "ant", "red": "cow"}
    wait_for_failure(kube_api, namespace, "none", "0/3 nodes are available: 3 Insufficient cpu.")
    selector = "node(s) didn't match Pod's node affinity/selector"
    wait_for_failure(kube_api, namespace, "blue", f"0/3 nodes are available: 1 {OTHERS}, 2 {selector}.")
    extender.wait_for_calls(f"{namespace}/red", ["filter"])
    assert r"\"NodeNames\":null" in extender.process.log.read_text()


@pytest.mark.parametrize(("command", "file"), list(zip(COMMANDS, WRITTEN, strict=True)))
def test_the_commands_that_wrote_the_files(command: str, file: str) -> None:
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=True)
    committed = (FOLDER / "v1.36" / file).read_text()
    assert done.stdout.partition("extenders:")[2] == committed.partition("extenders:")[2]
    if file == "converted-policy.yaml":
        assert done.stdout == committed


def test_inside_our_scheduler(control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path) -> None:
    """With DefaultBinder enabled the plugin does not bind; with DefaultBinder disabled it does."""
    kube_api.create_all(team_nodes())
    command = ["scheduler", f"--config={FOLDER}/scheduler-config.yaml", f"--plugin={FOLDER}/plugin.py:Teams"]
    environment = {"KUBECONFIG": str(control_plane.kubeconfig(SCHEDULER, certificate=True))}
    log = tmp_path / "log"
    with Process(
        "stowplan", [sys.executable, "-m", "stowplan", *command, "--secure-port=0", "--v=2"], log, env=environment
    ):
        for name in ("teams", "teams-binding"):
            kube_api.create(pod(name, namespace, labels={TEAM: "red"}, schedulerName=name))
        assert kube_api.wait_for_pods_bound(namespace, count=2) == {"teams": "ant", "teams-binding": "ant"}
        wait_until(lambda: log.read_text().count('"Successfully bound pod to node"') == 2)
    assert BINDING.format(namespace, "teams-binding", "ant") in log.read_text()
    assert BINDING.format(namespace, "teams", "ant") not in log.read_text()
