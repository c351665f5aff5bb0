"""`explain` and `why-not` on the command line: formats, exit statuses, and one line for each bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner
from tests.builders import node, pod

from stowplan.cli.main import cli

OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db"}


def document(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **item}


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    items = [
        document("Node", node("a", cpu="4")),
        document("Node", node("b", cpu="2")),
        document("Pod", pod("web", "a", namespace="shop", requests={"cpu": "1"})),
        document("Pod", pod("twin", "a", namespace="one")),
        document("Pod", pod("twin", "a", namespace="two")),
        document("Pod", pod("big", namespace="shop", requests={"cpu": "8"})),
        document("Pod", pod("db-0", namespace="shop", requests={"cpu": "16"}, owner=OWNER)),
        document("Pod", pod("foreign", namespace="shop", schedulerName="volcano")),
        document("Pod", pod("done", "a", namespace="shop", status={"phase": "Succeeded"})),
        document("Pod", pod("lost", "gone", namespace="shop")),
    ]
    path = tmp_path / "cluster.json"
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def run(*args: str) -> Any:
    return CliRunner().invoke(cli, args)


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["explain", "big"], 3, "Asks for 8 CPU; the largest of 2 nodes has 4."),
        (["explain", "web"], 0, "shop/web: on a"),
        (["explain"], 3, "2 pods are pending, for 2 reasons."),
        (["explain", "StatefulSet/db"], 3, "shop/StatefulSet/db: 1 pod pending, 0 on nodes"),
        (["explain", "foreign"], 3, "Waits for scheduler volcano (spec.schedulerName), which is not among"),
        (["explain", "foreign", "--as", "default-scheduler"], 3, "As a pod of default-scheduler: Fits on 2 nodes now."),
        (["why-not", "big", "a"], 3, "a has no room for shop/big: asks for 8 CPU; the node has 4 in all."),
        (["why-not", "web", "b"], 0, "b would do for shop/web, and is second: "),
    ],
)
def test_answers(manifests: str, command: list[str], status: int, words: str) -> None:
    result = run(*command, "-n", "shop", "-f", manifests)
    assert (result.exit_code, result.stderr) == (status, "")
    assert words in result.stdout


@pytest.mark.parametrize("command", [["explain", "big"], ["explain", "web"], ["explain"], ["why-not", "big", "a"]])
def test_json_and_yaml_are_the_same_record(manifests: str, command: list[str]) -> None:
    as_json = run(*command, "-n", "shop", "-f", manifests, "-o", "json")
    as_yaml = run(*command, "-n", "shop", "-f", manifests, "-o", "yaml")
    found = msgspec.json.decode(as_json.stdout)
    assert found["version"] == 1
    assert yaml.safe_load(as_yaml.stdout) == found


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["explain", "forein"], "pod shop/forein is not known; near names: foreign"),
        (
            ["explain", "twin"],
            "pod shop/twin is not known; namespaces one and two have one: name the namespace with -n",
        ),
        (["explain", "default/web"], "pod default/web is not known; there is one in namespace shop: shop/web"),
        (["explain", "db"], "pod shop/db is not known; StatefulSet/db has this name"),
        (["explain", "done"], "pod shop/done has finished on a (Succeeded); it needs no node any more"),
        (["explain", "lost"], "pod shop/lost is on node gone, which is gone"),
        (
            ["explain", "big", "--as", "x"],
            "no profile has the schedulerName x; the configuration has default-scheduler",
        ),
        (["explain", "Deployment/web"], "no pod belongs to Deployment/web in namespace shop"),
        (
            ["explain", "web/StatefulSet/db"],
            "no pod belongs to StatefulSet/db in namespace web; there is one in namespace shop",
        ),
        (["explain", "sts/dbs"], "no pod belongs to StatefulSet/dbs in namespace shop; near names: StatefulSet/db"),
        (
            ["explain", "none/x"],
            "pod none/x is not known; namespace none has no pods: name one with -n, such as one, shop or two",
        ),
        (["why-not", "shop/StatefulSet/db", "a"], "shop/StatefulSet/db: a pod is expected, such as shop/db-0"),
        (
            ["why-not", "sts/dbs", "a"],
            "no pod belongs to StatefulSet/dbs in namespace shop; near names: StatefulSet/db",
        ),
        (["why-not", "big", "c"], "node c is not known"),
        (["why-not", "big", "gone"], "node gone is gone; shop/lost still refers to it"),
        (["why-not", "nothing", "a"], "pod shop/nothing is not known"),
    ],
)
def test_bad_input_is_one_line(manifests: str, command: list[str], line: str) -> None:
    result = run(*command, "-n", "shop", "-f", manifests)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"stowplan: {line}\n"


def test_a_simulated_pod_is_explained_by_its_own_decision(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    items = [
        document("Node", node("a", cpu="8")),
        document("Node", node("b", cpu="4")),
        document("Pod", pod("first", requests={"cpu": "2"}, priority=10)),
        document("Pod", pod("second", requests={"cpu": "5"})),
    ]
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    result = run("explain", "first", "-f", str(path))
    assert result.exit_code == 0
    assert "\na won with " in result.stdout
    assert "2 of 2 nodes would have done." in result.stdout
    assert "If it were placed again now: b, by " in result.stdout


def test_of_a_snapshot_the_queue_is_not_known(manifests: str, tmp_path: Path) -> None:
    snapshot = str(tmp_path / "snapshot.json")
    assert run("snapshot", snapshot, "-f", manifests).exit_code == 0
    result = run("explain", "shop/big", "--from", snapshot)
    assert result.exit_code == 3
    assert "\nQueue\n" not in result.stdout
    assert result.stdout.endswith("; the cluster's scheduler may be configured otherwise.\n")
    assert "\nQueue\n" in run("explain", "shop/big", "-f", manifests).stdout


def test_an_empty_cluster(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_bytes(msgspec.json.encode(document("Pod", pod("web"))))
    result = run("explain", "web", "-f", str(path))
    assert result.exit_code == 3
    assert "There are no nodes." in result.stdout
    result = run("why-not", "web", "a", "-f", str(path))
    assert (result.exit_code, result.stderr) == (2, "stowplan: node a is not known: there are no nodes\n")
    path.write_bytes(msgspec.json.encode(document("Node", node("a"))))
    result = run("explain", "-f", str(path))
    assert (result.exit_code, result.stdout) == (0, "No pods are pending.\n")


def test_all_nodes_are_in_the_json_of_all(manifests: str) -> None:
    result = run("explain", "big", "--all", "-n", "shop", "-f", manifests, "-o", "json")
    assert set(msgspec.json.decode(result.stdout)["decision"]["rejected"]) == {"a", "b"}
