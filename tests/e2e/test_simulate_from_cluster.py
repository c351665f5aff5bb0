"""`stowplan simulate --from-cluster` on a real API server, which refuses whoever wants to write."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
import yaml
from click.testing import CliRunner, Result
from tests.builders import Json
from tests.e2e.devices import CLAIMS_ARE_SERVED, NO_CLAIMS

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
    free_port,
    node,
    pod,
)

pytestmark = pytest.mark.e2e

Simulate = Callable[..., Result]
WRITES = ("POST", "PUT", "PATCH", "DELETE")
CLAIM_KINDS = (
    "resourceclaims.resource.k8s.io, resourceclaimtemplates.resource.k8s.io, deviceclasses.resource.k8s.io, "
    "resourceslices.resource.k8s.io"
)
NOT_SERVED = "stowplan: ignored, since the server does not have these kinds: "
ALWAYS_REPORTED = "" if CLAIMS_ARE_SERVED else f"{NOT_SERVED}{CLAIM_KINDS}\n"
"""The first line of standard error on the shared control plane."""
KINDS = ("Node", "Pod", "Namespace", "apps/v1/ReplicaSet", "apps/v1/Deployment", "events.k8s.io/v1/Event")


def workload(kind: str, name: str, namespace: str, replicas: int, cpu: str = "1") -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("", namespace, cpu=cpu)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def owned(child: Json, owner: Json) -> Json:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
    return {**child, "metadata": {**child["metadata"], "ownerReferences": [reference]}}


def versions(api: KubeApi) -> Json:
    """Everything that there is, in the version that it has."""
    return {
        f"{kind} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}": item["metadata"][
            "resourceVersion"
        ]
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
    kube_api.create(pod("done", namespace, cpu="4", nodeName="ant"))
    kube_api.patch("Pod", "done", {"status": {"phase": "Succeeded"}}, namespace, subresource="status")
    free = next(name for name in ("ant", "bee") if list(running.values()).count(name) == 1)

    deployment = workload("Deployment", "web", "", 2, cpu="400m")
    result = simulate(deployment, options=("-o", "json"))
    found = states(result)
    new = [name for name in found if name.startswith("web-")]
    assert sorted(found.pop(name) for name in new) == [("", "Pending", ""), ("", "Placed", free)]
    assert found == {
        **{name: ("Running", "Running", node_name) for name, node_name in running.items()},
        "waits": ("Pending", "Placed", free),
        "huge": ("Pending", "Pending", ""),
    }
    assert result.exit_code == 3
    other = f'stowplan: pending pods of schedulerName "somebody", not scheduled: 1 pod ({namespace}/other)\n'
    assert result.stderr == ALWAYS_REPORTED + other

    table = simulate(deployment).stdout.splitlines()
    assert table[0].split() == ["NAMESPACE", "POD", "BEFORE", "STATUS", "NODE", "ATTEMPTS"]
    assert sorted(line.split()[1] for line in table[1:4]) == sorted(["waits", *new])
    assert not any("huge" in line for line in table)
    assert table[-1].startswith("2 placed, 2 pending (1 pending before), 3 running before; 2 of 2 nodes used.")
    everything = simulate(deployment, options=("--all",)).stdout
    assert all(name in everything for name in (*running, "huge", "waits", *new))


def test_what_will_become_of_the_pods_that_are_pending(kube_api: KubeApi, namespace: str, simulate: Simulate) -> None:
    kube_api.create_all([node("ant"), pod("runs", namespace, nodeName="ant"), pod("waits", namespace)])
    result = simulate()
    assert (result.exit_code, result.stderr) == (0, ALWAYS_REPORTED)
    assert [line.split() for line in result.stdout.splitlines()[1:2]] == [
        [namespace, "waits", "Pending", "Placed", "ant", "1"]
    ]
    kube_api.create(pod("huge", namespace, cpu="9"))
    result = simulate()
    assert result.exit_code == 3
    assert f"{namespace}/huge:\n  0/1 nodes are available: 1 Insufficient cpu." in result.stdout


@pytest.fixture
def web(kube_api: KubeApi, namespace: str) -> Json:
    """A deployment of two pods that run, one on each of two nodes, and of a third that nobody makes."""
    kube_api.create_all([node("ant"), node("bee")])
    deployment = kube_api.create(workload("Deployment", "web", namespace, 3))
    replica_set = kube_api.create(owned(workload("ReplicaSet", "web", namespace, 3), deployment))
    for name in ("ant", "bee"):
        made = pod(f"web-{name}", namespace, cpu="1", nodeName=name, labels={"app": "web"})
        kube_api.create(owned(made, replica_set))
    return deployment


def test_workloads_of_the_cluster_have_their_pods(namespace: str, simulate: Simulate, web: Json) -> None:
    found = states(simulate(pod("new", namespace), options=("-o", "json")))
    assert {name: state[:2] for name, state in found.items()} == {
        "web-ant": ("Running", "Running"),
        "web-bee": ("Running", "Running"),
        "new": ("", "Placed"),
    }


def test_a_manifest_takes_the_place_of_what_is_there(namespace: str, simulate: Simulate, web: Json) -> None:
    """The same pods asked for in other words, more of them, and other pods."""
    same = simulate(workload("Deployment", "web", namespace, 4, cpu="1000m"), options=("-o", "json"))
    found = states(same)
    assert sorted(state[:2] for state in found.values()) == [
        ("", "Placed"),
        ("", "Placed"),
        *[("Running", "Running")] * 2,
    ]
    other = simulate(workload("Deployment", "web", namespace, 3, cpu="1100m"), options=("-o", "json"))
    assert [state[:2] for state in states(other).values()] == [("", "Placed")] * 3
    updated = f"stowplan: in the cluster already, and updated by the manifests: 1 Deployment ({namespace}/web)"
    assert other.stderr.splitlines() == [
        *ALWAYS_REPORTED.splitlines(),
        updated,
        f"stowplan: Deployment {namespace}/web gets another pod template, so 2 pods will be replaced, all at once",
    ]
    assert same.stderr.splitlines() == [*ALWAYS_REPORTED.splitlines(), updated]


def test_evictions(namespace: str, simulate: Simulate, web: Json) -> None:
    urgent = pod("urgent", namespace, cpu="4", priorityClassName="system-node-critical")
    result = simulate(urgent)
    place = next(line.split()[4] for line in result.stdout.splitlines() if " urgent " in line)
    assert f"{namespace}/web-{place} (priority 0) left {place} for {namespace}/urgent" in result.stdout
    (made,) = (line.split() for line in result.stdout.splitlines() if line.startswith(f"{namespace}  web-"))
    assert made[2:4] == ["-", "Placed"]
    assert made[4] != place


def test_kinds_that_may_not_be_read_are_named(kube_api: KubeApi, namespace: str, simulate: Simulate) -> None:
    kube_api.create_all([node("ant"), pod("waits", namespace)])
    result = simulate(user=SCHEDULER)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    told, _, kinds = line.rpartition(": ")
    assert told == "stowplan: ignored, since they may not be read"
    assert {"deployments.apps", "daemonsets.apps", "cronjobs.batch"} <= set(kinds.split(", "))


def test_without_nodes_there_is_nothing_to_tell(simulate: Simulate) -> None:
    result = simulate(user=NOBODY)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "pods cannot be read, and they are required: Forbidden (403): pods is forbidden" in line


def test_kinds_that_the_server_lacks_are_named(start_control_plane: Callable[..., ControlPlane]) -> None:
    lacking = start_control_plane(runtime_config=NO_CLAIMS | {"policy/v1": False})
    with lacking.client() as api:
        api.create_all([node("ant"), pod("waits")])
    result = CliRunner().invoke(cli, ["simulate", "--from-cluster", "--kubeconfig", str(lacking.kubeconfig())])
    assert result.exit_code == 0
    assert result.stderr == f"{NOT_SERVED}poddisruptionbudgets.policy, {CLAIM_KINDS}\n"


def _with_token(config: Json) -> None:
    config["users"][0]["user"] = {"token": "stolen"}


def _with_another_authority(config: Json) -> None:
    cluster = config["clusters"][0]["cluster"]
    cluster.pop("certificate-authority", None)
    cluster["certificate-authority-data"] = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()


def _with_a_closed_port(config: Json) -> None:
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{free_port()}"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_with_token, "the server refuses the credentials: Unauthorized (401)"),
        (_with_another_authority, "the server's certificate is not trusted"),
        (_with_a_closed_port, "Connection refused"),
    ],
)
def test_what_keeps_us_from_reading_is_one_clear_line(
    control_plane: ControlPlane, tmp_path: Path, change: Callable[[Json], None], told: str
) -> None:
    config = yaml.safe_load(control_plane.kubeconfig().read_text())
    change(config)
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(cli, ["simulate", "--from-cluster", "--kubeconfig", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"stowplan: {config['clusters'][0]['cluster']['server']}: {told}")
