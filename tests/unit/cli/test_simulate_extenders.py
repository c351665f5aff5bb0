"""Simulations that call real extenders over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from tests.extenders import WebExtender
from tests.unit.cli.test_simulate import node_manifest, pod_manifest, run, text

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def simulate(tmp_path: Path, entry: dict[str, Any], *documents: dict[str, Any], status: int = 0) -> Any:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**HEADER, "extenders": [entry]}))
    result = run("-f", "-", "-o", "json", "--config", str(file), given=text(*documents))
    assert result.exit_code == status, result.stderr or result.exception
    return json.loads(result.stdout)


def test_filter_and_prioritize_with_whole_objects(tmp_path: Path) -> None:
    def racked(request: Any) -> Any:
        items = [item for item in request["Nodes"]["items"] if item["spec"].get("podCIDR")]
        return {"Nodes": {"items": items}}

    def last(request: Any) -> Any:
        names = sorted(item["metadata"]["name"] for item in request["Nodes"]["items"])
        return [{"Host": names[-1], "Score": 10}]

    nodes = [{**node_manifest(name), "spec": {"podCIDR": "10.0.0.0/24"}} for name in ("a", "b")]
    with WebExtender({"/f": racked, "/p": last}) as extender:
        entry = {"urlPrefix": extender.prefix, "filterVerb": "f", "prioritizeVerb": "p", "weight": 9}
        found = simulate(tmp_path, entry, *nodes, node_manifest("c"), pod_manifest(hostname="unread"))
    assert [each["node"] for each in found["pods"]] == ["b"]
    assert found["pods"][0]["decision"]["scores"]["b"][extender.prefix]["weighted"] == 900
    assert [len(request["Nodes"]["items"]) for _, request in extender.asked] == [3, 2]


def test_pods_that_an_extender_refuses_stay_pending(tmp_path: Path) -> None:
    refuse = {"/f": lambda request: {"FailedNodes": dict.fromkeys(request["NodeNames"], "no licence")}}
    with WebExtender(refuse) as extender:
        entry = {"urlPrefix": extender.prefix, "filterVerb": "f", "nodeCacheCapable": True}
        found = simulate(tmp_path, entry, node_manifest("a"), node_manifest("b"), pod_manifest(), status=3)
    assert found["pods"][0]["decision"]["message"].startswith("0/2 nodes are available: 2 no licence.")


def test_nothing_is_bound_that_exists_only_here(tmp_path: Path) -> None:
    with WebExtender({}) as extender:
        found = simulate(
            tmp_path, {"urlPrefix": extender.prefix, "bindVerb": "bind"}, node_manifest("a"), pod_manifest()
        )
    assert [each["node"] for each in found["pods"]] == ["a"]
    assert not extender.asked


def test_an_extender_that_is_not_there_is_told(tmp_path: Path) -> None:
    entry = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f"}
    found = simulate(tmp_path, entry, node_manifest("a"), pod_manifest(), status=3)
    message = 'Post "http://127.0.0.1:1/f": dial tcp 127.0.0.1:1: connect: connection refused'
    assert found["pods"][0]["decision"]["error"] == message
    assert (
        simulate(tmp_path, {**entry, "ignorable": True}, node_manifest("a"), pod_manifest())["pods"][0]["node"] == "a"
    )
