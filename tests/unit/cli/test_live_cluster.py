"""Simulations that start from a cluster, which is made up here."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.builders import Json

from stowplan.api import KINDS, Kind, codec
from stowplan.cli import live_cluster as module
from stowplan.cli.main import cli
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.cluster.snapshot import Snapshot

FromCluster = Callable[..., Result]


def stored(kind: str, name: str, spec: Json | None = None, **fields: Any) -> tuple[str, Json]:
    namespace = {"namespace": "team"} if KINDS[kind].namespaced else {}
    metadata = {"name": name, "uid": name, "creationTimestamp": "2026-10-01T00:00:00Z", **namespace}
    return kind, {"metadata": metadata, "spec": spec or {}, **fields}


def asking(cpu: str, **spec: Any) -> Json:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec}


NODE = stored("Node", "ant", {"providerID": "one"}, status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}})


class Cluster:
    """Stands in for a server: its objects, and the kinds that it does not give away."""

    def __init__(self) -> None:
        self.objects = [NODE]
        self.missing: list[str] = []
        self.forbidden: list[str] = []
        self.listed: list[str] = []

    def take_snapshot(
        self, connection: Connection, kinds: Iterable[Kind], *, keep_objects: bool, required: object, on_progress: Any
    ) -> Snapshot:
        self.listed = [kind.name for kind in kinds]
        on_progress(len(self.objects))
        return Snapshot(
            [(codec.convert(KINDS[kind].struct, each), each if keep_objects else None) for kind, each in self.objects],
            [KINDS[name] for name in self.missing],
            [KINDS[name] for name in self.forbidden],
        )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    connection = Connection("http://localhost", StoredCredentials(), namespace="team")
    monkeypatch.setattr(module, "load_connection", lambda kubeconfig, context: connection)
    monkeypatch.setattr(module, "take_snapshot", made.take_snapshot)
    return made


@pytest.fixture
def run(cluster: Cluster) -> FromCluster:
    def simulate(*documents: Json, options: tuple[str, ...] = ()) -> Result:
        given = ("-f", "-") if documents else ()
        text = "\n---\n".join(map(json.dumps, documents))
        return CliRunner().invoke(cli, ["simulate", "--from-cluster", *given, *options], input=text)

    return simulate


def test_all_that_can_be_simulated_is_asked_for_nodes_and_pods_first(cluster: Cluster, run: FromCluster) -> None:
    assert run().exit_code == 0
    assert cluster.listed[:2] == ["Pod", "Node"]
    assert set(cluster.listed) == KINDS.keys() - {"DeviceTaintRule", "Event", "Lease"}


def test_ignored_kinds_are_listed(cluster: Cluster, run: FromCluster) -> None:
    cluster.missing, cluster.forbidden = ["DeviceClass"], ["Service", "Deployment"]
    assert run().stderr.splitlines() == [
        "stowplan: ignored, since the server does not have these kinds: deviceclasses.resource.k8s.io",
        "stowplan: ignored, since they may not be read: services, deployments.apps",
    ]


def test_they_are_named_where_the_manifests_will_not_do_as_well(cluster: Cluster, run: FromCluster) -> None:
    cluster.forbidden = ["PriorityClass"]
    result = run({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"priorityClassName": "high"}})
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "stowplan: ignored, since they may not be read: priorityclasses.scheduling.k8s.io",
        "stowplan: <stdin>: $.spec.priorityClassName: no PriorityClass with name high was found",
    ]


def test_the_exit_status_is_about_what_was_asked(cluster: Cluster, run: FromCluster) -> None:
    cluster.objects.append(stored("Pod", "stuck", asking("9")))
    new = {"kind": "Pod", "metadata": {"name": "new"}, "spec": asking("1")}
    result = run(new)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split() == ["team", "new", "-", "Placed", "ant", "1"]
    assert "stuck" not in result.stdout
    assert "stuck" in run(new, options=("--all",)).stdout
    assert run(new, options=("--all",)).exit_code == 0
    assert run().exit_code == 3


def test_what_a_pod_needs_may_be_missing(cluster: Cluster, run: FromCluster) -> None:
    """From a cluster that is not a mistake in the input, but what will be."""
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nobodys"}}]}
    cluster.objects.append(stored("Pod", "old", asking("1", **claim)))
    result = run({"kind": "Pod", "metadata": {"name": "new"}, "spec": asking("1", **claim)}, options=("-o", "json"))
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert [each["status"] for each in found["pods"]] == ["Pending", "Pending"]
    assert all('persistentvolumeclaim "nobodys" not found' in each["message"] for each in found["pods"])


def test_time_begins_now(run: FromCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or pods to come would pass for older than those that run, and be the last to be evicted."""
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: 2_000_000_000.0))
    template = {"spec": {"template": {"spec": asking("1")}}}
    result = run({"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": template}})
    assert result.stdout.splitlines()[1].split()[1].startswith("c-33333333-")


PLUGIN = """
from stowplan import Plugin, reject

class Reader(Plugin):
    name = "Reader"
    needs_objects = True
    def filter(self, state, pod, node):
        return None if node.object["spec"]["providerID"] == pod.object["spec"]["hostname"] else reject("another id")
"""


def test_plugins_see_whole_objects_of_the_cluster(cluster: Cluster, run: FromCluster, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    cluster.objects += [stored("Pod", name, asking("1", hostname=host)) for name, host in (("p", "one"), ("q", "two"))]
    result = run(options=("-o", "json", "--plugin", f"{tmp_path / 'mine.py'}:Reader"))
    assert {each["pod"]: each["status"] for each in json.loads(result.stdout)["pods"]} == {
        "team/p": "Placed",
        "team/q": "Pending",
    }
