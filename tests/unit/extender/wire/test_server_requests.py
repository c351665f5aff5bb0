"""Requests of every release, and the errors for malformed ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.builders import node

from stowplan.extender.wire.errors import WireError
from stowplan.extender.wire.server_requests import read_bind, read_filter, read_preempt

POD: dict[str, Any] = {"metadata": {"name": "web-0", "namespace": "shop", "uid": "7f1"}, "spec": {}, "status": {}}


def body(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def full(*nodes: Any) -> dict[str, Any]:
    return {"metadata": {}, "items": list(nodes)}


@pytest.mark.parametrize(
    ("request_body", "names"),
    [
        pytest.param({"Pod": POD, "Nodes": None, "NodeNames": ["a", "b"]}, ["a", "b"], id="v1.6 and later"),
        pytest.param({"pod": POD, "nodenames": ["a"]}, ["a"], id="lower case"),
        pytest.param({"POD": POD, "NODENAMES": ["a"], "Extra": {"x": [1]}}, ["a"], id="upper case, unknown member"),
        pytest.param({"Pod": POD, "NodeNames": ["a", None, "b"]}, ["a", "b"], id="null among names"),
        pytest.param({"Pod": POD, "NodeNames": []}, [], id="empty"),
        pytest.param({"Pod": POD}, [], id="neither list"),
        pytest.param({"Pod": POD, "NodeNames": ["a"], "nodenames": ["b"]}, ["b"], id="the later spelling counts"),
    ],
)
def test_names(request_body: Any, names: list[str]) -> None:
    request = read_filter(body(request_body))
    assert request.names == names
    assert request.nodes is None
    assert request.pod.metadata.name == "web-0"


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param({"Pod": POD, "Nodes": full(node("a"), node("b")), "NodeNames": None}, id="v1.6 and later"),
        pytest.param({"pod": POD, "nodes": full(node("a"), node("b"))}, id="v1.2 to v1.5"),
        pytest.param({"Pod": POD, "nOdEs": {"Items": [node("a"), None, node("b")]}}, id="other case, null item"),
        pytest.param({"Nodes": full(node("a"), node("b")), "Pod": POD}, id="other order"),
        pytest.param({"Pod": POD, "Nodes": full({"kind": "Node", **node("a")}, node("b"))}, id="with kind"),
    ],
)
def test_full_nodes(request_body: Any) -> None:
    request = read_filter(body(request_body))
    assert request.mode == "nodes"
    assert request.nodes is not None
    assert [found.name for found in request.nodes] == request.names == ["a", "b"]
    assert json.loads(request.nodes[1].raw) == node("b")
    assert request.fresh == request.nodes


def test_a_node_with_nulls_is_read() -> None:
    item = {"metadata": {"name": "a", "labels": None, "creationTimestamp": None}, "spec": None}
    request = read_filter(body({"Pod": POD, "Nodes": full(item)}))
    assert request.nodes is not None
    assert request.nodes[0].node.metadata.name == "a"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "truncated"),
        (b"null", "object"),
        (b"[]", "object"),
        (b'{"Pod":', "truncated"),
        (b'{"Nodes":null}', "Pod is missing"),
        (b'{"Pod":null,"NodeNames":["a"]}', "Pod is missing"),
        (b'{"Pod":{},"NodeNames":"a"}', "NodeNames"),
        (b'{"Pod":{},"NodeNames":[1]}', "NodeNames"),
        (b'{"Pod":{},"Nodes":[]}', "Nodes"),
        (b'{"Pod":{},"Nodes":{"items":[1]}}', "node cannot be read"),
        (b'{"Pod":{},"Nodes":{"items":[{"metadata":{"name":7}}]}}', "node cannot be read"),
        (b'{"Pod":{},"NodeNames":["\xff"]}', "UTF-8"),
        (b'{"Pod":' + b"[" * 100_000, "request"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message) as caught:
        read_filter(data)
    assert "\n" not in str(caught.value)


def test_a_pod_of_wrong_types_is_told_when_it_is_looked_at() -> None:
    request = read_filter(b'{"Pod":{"metadata":{"name":1}},"NodeNames":[]}')
    with pytest.raises(WireError, match=r"pod cannot be read: \$\.metadata\.name"):
        _ = request.pod


@pytest.mark.parametrize(
    "data",
    [
        {"PodName": "p", "PodNamespace": "ns", "PodUID": "u", "Node": "n"},
        {"podName": "p", "podNamespace": "ns", "podUID": "u", "node": "n", "more": None},
    ],
)
def test_bind(data: dict[str, Any]) -> None:
    request = read_bind(body(data))
    assert (request.pod_name, request.pod_namespace, request.pod_uid, request.node) == ("p", "ns", "u", "n")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"PodName": "p"},
        {"PodName": 1, "Node": "n"},
        {"PodName": None, "Node": "n"},
        {"PodName": "../../x", "Node": "n"},
        {"PodName": "p", "PodNamespace": "a/b", "Node": "n"},
        {"PodName": "p", "Node": "N?"},
    ],
)
def test_bind_without_pod_or_node_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        read_bind(body(data))


def test_preempt_by_uid() -> None:
    victims = {"n1": {"Pods": [{"UID": "a"}, None, {"uid": "b"}], "NumPDBViolations": 1}, "n2": None}
    request = read_preempt(body({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}))
    assert request.names_only
    assert request.victims["n1"].uids == ("a", "b")
    assert request.victims["n1"].num_pdb_violations == 1
    assert request.victims["n2"].uids == ()


@pytest.mark.parametrize("key", ["NodeNameToVictims", "nodeToVictims", "nodenametovictims"])
def test_preempt_in_full(key: str) -> None:
    low = {"metadata": {"name": "low", "uid": "a"}, "spec": {"priority": 3}}
    request = read_preempt(body({"Pod": POD, key: {"n1": {"pods": [low], "numPDBViolations": 0}}}))
    assert not request.names_only
    assert request.victims["n1"].pods[0].spec.priority == 3


def test_preempt_without_candidates() -> None:
    assert read_preempt(body({"Pod": POD})).victims == {}
