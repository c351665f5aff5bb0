"""Nodes that requests bring: taken in once, and forgotten when nobody brings them any longer."""

import json

from tests.builders import node

from stowplan.cache import Cluster
from stowplan.extender.handlers.request_nodes import RequestNodes
from stowplan.extender.wire.node_lists import RawNode


def raw(name: str, **labels: str) -> RawNode:
    return RawNode(name, json.dumps(node(name, labels=labels)).encode())


def test_nodes_are_taken_in_and_known() -> None:
    cluster = Cluster()
    kept = RequestNodes(cluster)
    first = raw("a", x="1")
    kept.add([first], [first], 0.0)
    assert kept.known == {b"a": first}
    info = cluster.nodes.get("a")
    assert info is not None
    assert info.labels["x"] == "1"


def test_nodes_that_nobody_brings_are_forgotten() -> None:
    cluster = Cluster()
    kept = RequestNodes(cluster)
    a, b = raw("a"), raw("b")
    kept.add([a, b], [a, b], 1000.0)
    for minute in range(1, 15):
        kept.add([a], [], 1000.0 + 60 * minute)
    assert set(cluster.nodes.slot_of) == {"a"}
    assert set(kept.known) == {b"a"}


def test_a_node_that_came_a_moment_ago_stays() -> None:
    cluster = Cluster()
    kept = RequestNodes(cluster)
    a, b = raw("a"), raw("b")
    kept.add([a], [a], 10_000.0)
    kept.add([b], [b], 10_010.0)
    kept.add([a], [], 10_070.0)
    assert set(cluster.nodes.slot_of) == {"a", "b"}


def test_names_that_nobody_brings_are_forgotten() -> None:
    cluster = Cluster()
    kept = RequestNodes(cluster)
    kept.add_names(["a", "b"], 1000.0)
    for minute in range(1, 15):
        kept.add_names(["a", f"once-{minute}"], 1000.0 + 60 * minute)
    assert "b" not in cluster.nodes.slot_of
    assert "once-1" not in cluster.nodes.slot_of
    assert {"a", "once-14"} <= set(cluster.nodes.slot_of)
