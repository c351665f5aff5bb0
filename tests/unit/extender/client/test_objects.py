from __future__ import annotations

import json
from typing import Any

from tests.builders import World, node, pod

from stowplan.extender.client.objects import Objects, node_bytes, pod_bytes


def keeping(*nodes: dict[str, Any]) -> World:
    world = World()
    world.cluster.keep_objects = True
    for item in nodes:
        world.put_node(item)
    return world


def test_objects_go_on_as_they_came_but_for_what_no_informer_keeps() -> None:
    odd = {**pod("p", hostPID=True), "kind": "Pod", "apiVersion": "v1"}
    odd["metadata"] |= {"managedFields": [{"x": None}], "annotations": {"a": "ü"}}
    world = keeping({**node("a"), "kind": "Node", "odd": [1.50]})
    sent = json.loads(pod_bytes(world.pod(odd)))
    assert sent.pop("kind", None) is None
    assert sent["spec"]["hostPID"] is True
    assert sent["metadata"]["annotations"] == {"a": "ü"}
    assert "managedFields" not in sent["metadata"]
    (info,) = world.cluster.nodes
    assert json.loads(node_bytes(info)) == {**node("a"), "odd": [1.5]}


def test_bytes_keep_their_spelling() -> None:
    world = keeping()
    made = world.pod(pod("p"))
    made.source = b'{"metadata":{"name":"p"},"spec":{"x":1.50,"y":"\\u00fc"}}'
    assert pod_bytes(made) == made.source


def test_where_nothing_was_kept_what_is_known_has_to_do() -> None:
    world = World([node("a", labels={"x": "y"})])
    sent = json.loads(pod_bytes(world.pod(pod("p", labels={"app": "a"}, nominated="a", requests={"cpu": 1}))))
    assert sent["metadata"] == {"name": "p", "namespace": "default", "uid": "default/p", "labels": {"app": "a"}}
    assert sent["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    assert sent["status"] == {"nominatedNodeName": "a"}
    (info,) = world.cluster.nodes
    assert json.loads(node_bytes(info))["metadata"]["labels"]["x"] == "y"


def test_bytes_of_nodes_are_kept_while_they_stay_as_they_are() -> None:
    world, objects = keeping(node("a")), Objects()
    (info,) = world.cluster.nodes
    assert objects.node(info) is objects.node(info)
    world.put_node(node("a", labels={"new": "1"}))
    assert json.loads(objects.node(info))["metadata"]["labels"]["new"] == "1"
