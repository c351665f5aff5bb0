"""Explanations of a running scheduler over TLS, and snapshots, on a real API server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stowplan.cli.main import cli
from stowplan.testing import ADMIN, NOBODY, SCHEDULER, ControlPlane, KubeApi, Process, free_port, node, pod, wait_until

pytestmark = pytest.mark.e2e

RBAC = "rbac.authorization.k8s.io"
ROLE = "read-insight"
DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture
def url(control_plane: ControlPlane, start_stowplan: Callable[..., Process]) -> str:
    """The secure port of a scheduler on the shared control plane."""
    port, kubeconfig = free_port(), control_plane.kubeconfig(SCHEDULER)
    serving = control_plane.authority.server("kube-scheduler")
    start_stowplan(
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
    )
    return f"https://127.0.0.1:{port}"


@pytest.fixture
def waiting(kube_api: KubeApi, namespace: str, url: str) -> str:
    """A pod that the scheduler has tried in vain."""
    kube_api.create_all([node("ant", cpu="4"), pod("small", namespace, cpu="1"), pod("large", namespace, cpu="9")])

    def tried() -> bool:
        conditions = kube_api.get("Pod", "large", namespace).get("status", {}).get("conditions", ())
        return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)

    wait_until(tried, what="the first attempt")
    return "large"


@pytest.fixture
def granted(kube_api: KubeApi) -> Iterator[None]:
    """NOBODY may read explanations, and nothing else."""
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": ROLE}}
    rules = yaml.safe_load((DEPLOY / "rbac-insight.yaml").read_text())["rules"]
    subjects = [{"kind": "User", "apiGroup": RBAC, "name": NOBODY.name}]
    reference = {"kind": "ClusterRole", "apiGroup": RBAC, "name": ROLE}
    kube_api.create({**head, "kind": "ClusterRole", "rules": rules})
    kube_api.create({**head, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference})
    attributes = {"path": "/insight/v1/pending", "verb": "get"}
    spec = {"user": NOBODY.name, "nonResourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}
    wait_until(lambda: kube_api.create(review)["status"]["allowed"], what="the server to heed the role")
    yield
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        kube_api.delete(f"{RBAC}/v1/{kind}", ROLE, "")


def test_explanations_in_events_and_conditions(
    kube_api: KubeApi, namespace: str, start_stowplan: Callable[..., Process]
) -> None:
    start_stowplan("--explain-events")
    kube_api.create_all([node("ant", cpu="4"), pod("large", namespace, cpu="9")])
    message = "0/1 nodes are available: 1 Insufficient cpu."

    def condition() -> str:
        conditions = kube_api.get("Pod", "large", namespace).get("status", {}).get("conditions", ())
        return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")

    def notes() -> list[str]:
        events = kube_api.list("events.k8s.io/v1/Event", namespace)
        return [each["note"] for each in events if each["reason"] == "FailedScheduling"]

    wait_until(lambda: "9 CPU" in condition(), what="the sentence in the condition")
    assert f". {message}" in condition()
    wait_until(lambda: bool(notes()), what="the event")
    assert notes() == [condition()]


def run(*args: object) -> Result:
    return CliRunner().invoke(cli, [str(arg) for arg in args])


@pytest.mark.usefixtures("granted")
def test_with_rights(control_plane: ControlPlane, namespace: str, url: str, waiting: str) -> None:
    login = ("--from", url, "--kubeconfig", control_plane.kubeconfig(NOBODY, namespace=namespace))
    result = run("explain", waiting, *login, "-o", "json")
    assert result.exit_code == 3, result.output
    found = json.loads(result.stdout)
    assert "9 CPU" in found["sentence"]
    assert found["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert found["asOf"]["source"] == "scheduler"
    assert found["asOf"]["revision"] > 0
    assert run("explain", waiting, *login).stdout.splitlines()[0]
    placed = run("explain", f"{namespace}/small", *login, "-o", "json")
    assert (placed.exit_code, json.loads(placed.stdout)["node"]) == (0, "ant")
    refused = run("why-not", waiting, "ant", *login, "-o", "json")
    assert (refused.exit_code, json.loads(refused.stdout)["node"]) == (3, "ant")
    listed = json.loads(run("explain", *login, "-o", "json").stdout)
    assert [group["pods"] for group in listed["groups"]] == [1]
    unknown = run("explain", "none", *login)
    assert unknown.exit_code == 2
    line = f"pod {namespace}/none is not known to the scheduler: it is neither on a node nor pending for"
    assert unknown.stderr == f"stowplan: {line} default-scheduler\n"
    workload = run("explain", "Deployment/web", *login)
    assert (workload.exit_code, workload.stderr) == (
        2,
        f"stowplan: no pod belongs to Deployment/web in namespace {namespace}\n",
    )
    profile = run("explain", waiting, *login, "--as", "other")
    assert profile.exit_code == 2
    assert "no profile has the schedulerName other" in profile.stderr


def test_without_rights(control_plane: ControlPlane, namespace: str, url: str, waiting: str) -> None:
    result = run("explain", waiting, "--from", url, "--kubeconfig", control_plane.kubeconfig(NOBODY), "-n", namespace)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    path = f"/insight/v1/explain/{namespace}/{waiting}"
    assert line.startswith(f'stowplan: {url}: forbidden: User "{NOBODY.name}" cannot get path "{path}"')


def test_an_untrusted_certificate_gets_no_credentials(
    control_plane: ControlPlane, url: str, waiting: str, tmp_path: Path
) -> None:
    import trustme

    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    login: tuple[Any, ...] = ("--from", url, "--kubeconfig", control_plane.kubeconfig(ADMIN))
    result = run("explain", waiting, *login, "--certificate-authority", other)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "certificate" in result.stderr
    assert run("explain", *login, "--certificate-authority", control_plane.authority.file).exit_code == 3
    assert run("explain", *login, "--insecure-skip-tls-verify").exit_code == 3


def test_a_snapshot_of_a_cluster(control_plane: ControlPlane, namespace: str, waiting: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json.gz"
    kubeconfig = control_plane.kubeconfig(ADMIN, namespace=namespace)
    result = run("snapshot", file, "--from-cluster", "--kubeconfig", kubeconfig)
    assert result.exit_code == 0, result.output
    found = run("explain", waiting, "--from", file, "-o", "json")
    assert found.exit_code == 3
    live = run("explain", waiting, "--from-cluster", "--kubeconfig", kubeconfig, "-o", "json")
    answers = [json.loads(each.stdout) for each in (found, live)]
    assert answers[0]["sentence"] == answers[1]["sentence"]
    assert answers[0]["message"] == answers[1]["message"]
    assert run("explain", f"{namespace}/small", "--from", file).exit_code == 0


def test_a_snapshot_without_rights_is_one_line(control_plane: ControlPlane, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    result = run("snapshot", file, "--from-cluster", "--kubeconfig", control_plane.kubeconfig(NOBODY))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "cannot be read, and they are required" in line
    assert not file.exists()
