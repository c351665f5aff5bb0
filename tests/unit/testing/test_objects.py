"""Nodes and pods for tests are sound objects."""

import json

from stowplan import api
from stowplan.api import codec
from stowplan.testing.objects import node, pod


def test_node() -> None:
    parsed = codec.decode(api.Node, json.dumps(node("ant", cpu="2", labels={"zone": "z"})).encode())
    assert parsed.metadata.labels == {"kubernetes.io/hostname": "ant", "zone": "z"}
    assert parsed.status.allocatable == {"cpu": "2", "memory": "8Gi", "pods": "110"}


def test_pod() -> None:
    parsed = codec.decode(api.Pod, json.dumps(pod("web", "ns", cpu="1", labels={"a": "b"}, schedulerName="x")).encode())
    assert (parsed.metadata.namespace, parsed.metadata.labels) == ("ns", {"a": "b"})
    assert parsed.spec.scheduler_name == "x"
    assert parsed.spec.containers[0].resources.requests == {"cpu": "1", "memory": "64Mi"}
