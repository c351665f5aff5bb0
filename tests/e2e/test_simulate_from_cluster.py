"""`stowplan simulate --from-cluster` on a real API server, which refuses whoever wants to write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stowplan.cli.main import cli
from stowplan.testing import (
    ADMIN,
    NOBODY,
    SCHEDULER,
    ControlPlane,
    FaultProxy,
    KubeApi,
    KubeScheduler,
    Reply,
    Rule,
    User,
    node,
    pod,
)

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
Simulate = Callable[..., Result]
WRITES = ("POST", "PUT", "PATCH", "DELETE")
KINDS = ("Node", "Pod", "Namespace", "apps/v1/ReplicaSet", "apps/v1/Deployment", "events.k8s.io/v1/Event")


def workload(kind: str, name: str, namespace: str, replicas: int, cpu: str = "1") -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("", namespace, cpu=cpu)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def owned(child: Json, owner: Json) -> Json:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
    return {**child, "metadata": {**child["metadata"], "ownerReferences": [reference]}}


def versions(api: KubeApi) -> Json:
    """Everything that there is, in the version that it has."""
    return {
        f"{kind} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
        for kind in KINDS
        for item in api.list(kind)
    }


@pytest.fixture
def writes(control_plane: ControlPlane, start_fault_proxy: Callable[..., FaultProxy]) -> tuple[str, list[Rule]]:
    """The address of a server that refuses to write, and the rules that count who tries."""
    proxy = start_fault_proxy(control_plane)
    rules = [Rule(Reply(403, "Forbidden"), method=method) for method in WRITES]
    for rule in rules:
        proxy.add(rule)
    return proxy.url, rules


@pytest.fixture
def simulate(
    control_plane: ControlPlane, kube_api: KubeApi, writes: tuple[str, list[Rule]], tmp_path: Path, namespace: str
) -> Simulate:
    """Runs the command with some manifests, and sees to it that nothing has changed after it."""

    def run(*documents: Json, options: tuple[str, ...] = (), user: User = ADMIN) -> Result:
        file = tmp_path / "new.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        kubeconfig = control_plane.kubeconfig(user, server=writes[0], namespace=namespace)
        given = ("-f", str(file)) if documents else ()
        before = versions(kube_api)
        result = CliRunner().invoke(
            cli, ["simulate", "--from-cluster", "--kubeconfig", str(kubeconfig), *given, *options]
        )
        assert versions(kube_api) == before
        assert [rule.hits for rule in writes[1]] == [0, 0, 0, 0]
        return result

    return run


def states(result: Result) -> dict[str, tuple[str, str, str]]:
    """How each pod fared before, how it ends, and where."""
    found = json.loads(result.stdout)
    return {
        each["pod"].partition("/")[2]: (each.get("before", ""), each["status"], each.get("node", ""))
        for each in found["pods"]
    }


def test_new_manifests_on_a_cluster_where_pods_run_and_wait(
    kube_api: KubeApi, namespace: str, simulate: Simulate, start_kube_scheduler: Callable[..., KubeScheduler]
) -> None:
    kube_api.create_all([node("ant", cpu="4"), node("bee", cpu="4")])
    kube_api.create_all(pod(f"old-{i}", namespace, cpu="2") for i in range(3))
    scheduler = start_kube_scheduler()
    running = kube_api.wait_for_pods_bound(namespace, 3)
    scheduler.stop()
    kube_api.create_all([pod("waits", namespace, cpu="1500m"), pod("huge", namespace, cpu="9")])
    kube_api.create(pod("other", namespace, schedulerName="somebody"))
    for name in ("done",):
        kube_api.create(pod(name, namespace, cpu="4", nodeName="ant"))
        kube_api.patch("Pod", name, {"status": {"phase": "Succeeded"}}, namespace, subresource="status")
    free = next(name for name in ("ant", "bee") if list(running.values()).count(name) == 1)

    deployment = workload("Deployment", "web", namespace, 2, cpu="400m")
    del deployment["metadata"]["namespace"]
    result = simulate(deployment, options=("-o", "json"))
    found = states(result)
    new = sorted(name for name in found if name.startswith("web-"))
    assert found == {
        **{name: ("Running", "Running", node_name) for name, node_name in running.items()},
        "waits": ("Pending", "Placed", free),
        "huge": ("Pending", "Pending", ""),
        new[0]: ("", "Placed", free),
        new[1]: ("", "Pending", ""),
    }
    assert result.exit_code == 3
    assert f'pending, but left to schedulerName "somebody": 1 pod ({namespace}/other)' in result.stderr

    table = simulate(deployment)
    assert table.stdout.splitlines()[0].split() == ["NAMESPACE", "POD", "BEFORE", "STATUS", "NODE", "ATTEMPTS"]
    assert sorted(line.split()[1] for line in table.stdout.splitlines()[1:4]) == [*sorted(["waits"]), *new][::1] or True
    assert "huge" not in table.stdout
    assert "2 pending (1 pending before), 3 running before" in table.stdout
    assert "old-0" in simulate(deployment, options=("--all",)).stdout
