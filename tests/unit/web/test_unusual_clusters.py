"""Clusters without nodes, with one node, with long and hostile names, and with very many pending pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.builders.engine_host import Host
from tests.builders.objects import node, pod
from tests.unit.web.pages import engine_source, served, shown

from stowplan.insight.insight import NOT_LISTED
from stowplan.web.pending import MAX_GROUPS

PATHS = ("hello", "map", "pods", "pods?names", "pending", "queue", "config")
LONG = "n" * 63 + "." + "o" * 63 + "." + "p" * 63 + "." + "q" * 61
MANY, TEMPLATES = 10_000, 250


def manifest(kind: str, item: Any) -> Any:
    return {"apiVersion": "v1", "kind": kind, **item}


@pytest.mark.parametrize("nodes", [0, 1])
def test_few_nodes(nodes: int, tmp_path: Path) -> None:
    items = [manifest("Node", node(f"n{number}")) for number in range(nodes)]
    with shown(tmp_path, *items, manifest("Pod", pod("big", requests={"cpu": 100}))) as browser:
        answers = {path: browser.data(path) for path in PATHS}
        assert answers["hello"]["nodes"] == len(answers["map"]["nodes"]["name"]) == nodes
        assert answers["pending"]["groups"][0]["pods"] == 1
        assert browser.data("explain/default/big")["sentence"]
        assert len(browser.data("fit/default/big")["step"]) >= nodes
        assert browser.data("points/default/big")["slot"] == []


def test_names_of_253_characters(tmp_path: Path) -> None:
    assert len(LONG) == 253
    long_pod = manifest("Pod", pod(LONG, requests={"cpu": 1}))
    with shown(tmp_path, manifest("Node", node(LONG, labels={"kubernetes.io/hostname": "x"})), long_pod) as browser:
        assert browser.data("map")["nodes"]["name"] == [LONG]
        names = browser.data("pods?names")
        assert names["prefix"]["values"][0] + names["suffix"][0] == f"default/{LONG}"
        assert browser.data(f"node/{LONG}")["pods"][0]["pod"] == f"default/{LONG}"
        assert browser.data(f"explain/default/{LONG}")["node"] == LONG


@pytest.mark.parametrize("name", ["a/b", "..", "%2e%2e", "<b>", "a b", "ü", "x?y#z", "\\"])
def test_names_that_do_not_exist_are_not_found_and_are_text(name: str, tmp_path: Path) -> None:
    with shown(tmp_path, manifest("Node", node("a"))) as browser:
        for path in (f"explain/default/{quote(name, safe='')}", f"node/{quote(name, safe='')}"):
            reply = browser.get(f"/api/v1/{path}")
            assert reply.status in (400, 404)
            assert reply.headers["Content-Type"].startswith("application/json")


def test_ten_thousand_pending_pods_of_many_templates() -> None:
    pods = [
        pod(f"p{number}", requests={"cpu": 10 + number % TEMPLATES}, labels={"app": f"a{number % TEMPLATES}"})
        for number in range(MANY)
    ]
    host = Host(node("a"), *pods, check_invariants=False)
    with engine_source(host, changes=False) as source, served(source) as browser:
        page = browser.data("pending")
        assert page["pods"] == MANY
        assert len(page["groups"]) == MAX_GROUPS
        assert page["moreGroups"] == TEMPLATES - MAX_GROUPS
        group = page["groups"][0]
        rows = browser.data(f"pending/{group['id']}?from={group['pods'] - 10}&count=100")["rows"]
        assert len(rows) == 10
        assert len(browser.get("/api/v1/pending").body) < 200_000


def test_only_so_many_templates_are_explained_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.web.pending.MAX_EXPLAINED_TEMPLATES", 2)
    host = Host(node("a"), *(pod(f"p{number}", requests={"cpu": 10 + number}) for number in range(9)))
    with engine_source(host, changes=False) as source, served(source) as browser:
        groups = browser.data("pending")["groups"]
    assert [(group["pods"], group["sentence"] == NOT_LISTED) for group in groups] == [(7, True), (1, False), (1, False)]
