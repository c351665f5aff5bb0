"""Taking a list of nodes apart by comparing it with what came before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowplan.extender.wire.node_lists import RawNode, split
from stowplan.extender.wire.server_requests import read_filter

POD = b'{"metadata":{"name":"p"}}'


def node_json(name: str, **more: Any) -> bytes:
    return json.dumps({"metadata": {"name": name, **more}, "spec": {}}, separators=(",", ":")).encode()


def body(*nodes: bytes, pod: bytes = POD) -> bytes:
    return b"".join((b'{"Pod":', pod, b',"Nodes":{"metadata":{},"items":[', b",".join(nodes), b']},"NodeNames":null}'))


def known(*nodes: bytes) -> dict[bytes, RawNode]:
    return {(name := json.loads(raw)["metadata"]["name"]).encode(): RawNode(name, raw) for raw in nodes}


@pytest.mark.parametrize("as_type", [bytes, bytearray])
def test_known_nodes_are_taken_over_and_others_are_fresh(as_type: type) -> None:
    before = known(node_json("a"), node_json("b"))
    found = split(as_type(body(node_json("b"), node_json("c"), node_json("a", uid="new"))), before)
    assert found is not None
    pod, nodes, fresh = found
    assert pod == POD
    assert [entry.name for entry in nodes] == ["b", "c", "a"]
    assert nodes[0] is before[b"b"]
    assert fresh == nodes[1:]
    assert [entry.raw for entry in nodes] == [node_json("b"), node_json("c"), node_json("a", uid="new")]
    assert all(type(entry.raw) is bytes for entry in nodes)


def test_a_node_that_begins_like_a_known_one_is_not_that_one() -> None:
    short = b'{"metadata":{"name":"a"}}'
    found = split(body(short + b"x"), known(short))
    assert found is None
    assert split(body(short[:-1] + b',"spec":{}}'), known(short)) is not None


def test_text_that_looks_like_the_next_node_is_seen_through() -> None:
    trap = node_json("a", annotations={"x": '},{"metadata":{"name":"'})
    nested = b'{"metadata":{"name":"b","x":[{},{"metadata":{"name":"y"}}]},"spec":{}}'
    found = split(body(trap, nested, node_json("c")), {})
    assert found is not None
    assert [entry.raw for entry in found[1]] == [trap, nested, node_json("c")]


@pytest.mark.parametrize(
    "data",
    [
        body(node_json("a")).replace(b"Pod", b"pod"),
        body(node_json("a")) + b"}",
        body(node_json("a"), pod=b"7"),
        body(node_json("a"), pod=b"{"),
        body(node_json("a"), b""),
        body(b"", node_json("a")),
        body(node_json("a"), b"null"),
        body(b'{"kind":"Node","metadata":{"name":"a"}}'),
        body(node_json("a")).replace(b'"spec":{}', b'"spec":{'),
        body(node_json("a")).replace(b'"spec"', b'"sp\xffc"'),
        body(node_json("a")).replace(b'"metadata":{},', b""),
    ],
)
def test_whatever_is_written_otherwise_is_left_to_others(data: bytes) -> None:
    assert split(data, {}) is None


def test_no_nodes_at_all() -> None:
    assert split(body(), {}) == (POD, [], [])


def test_the_plain_way_knows_nodes_as_well() -> None:
    before = known(node_json("a"))
    request = read_filter(body(node_json("a"), node_json("b")).replace(b'"Pod"', b'"pod"'), before)
    assert request.nodes is not None
    assert request.nodes[0] is before[b"a"]
    assert [entry.name for entry in request.fresh] == ["b"]


def test_a_node_of_the_same_length_is_compared_to_the_last_byte() -> None:
    found = split(body(node_json("a", uid="2")), known(node_json("a", uid="1")))
    assert found is not None
    assert [entry.raw for entry in found[2]] == [node_json("a", uid="2")]
