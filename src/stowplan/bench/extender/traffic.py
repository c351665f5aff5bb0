"""Requests as kube-scheduler writes them, no two alike.

Every request is for another pod, of one of many controllers; the nodes come in an order that starts somewhere else each
time, and some of them have changed since the request before: most have a newer heartbeat, a few other labels or less to
give.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

from stowplan.bench.object_pattern import ObjectPattern, overlay
from stowplan.bench.object_series import node_pages
from stowplan.bench.scenario import NodeSeries, load_object

CONTROLLERS = 20
CHANGED_NODE_SHARE = 0.01
"""Share of nodes that change between two requests: a hundred times that of a real cluster."""

_SERIES = NodeSeries(node={"status": {"capacity": {"memory": "131072008Ki"}}})
"""An amount that Go writes as it is: it would shorten a round one."""
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "labels", "annotations")
_ZONES = 10
_POD = {
    "metadata": {"labels": {"app": "shop-$kind", "avoid-zone": "$avoid"}},
    "spec": {"containers": "$containers"},
}


class BenchRequest(NamedTuple):
    """A request's body, and one that brings the nodes that have changed, for extenders that know nodes by name."""

    body: bytes
    changes: bytes


class Traffic:
    """An endless series of requests about the same nodes."""

    def __init__(self, nodes: int, seed: int, *, names_only: bool) -> None:
        self._random = Random(seed)
        self._names_only = names_only
        self._nodes: list[dict[str, Any]] = []
        for page in node_pages(nodes, _SERIES, seed):
            self._nodes += [_written_by_go(node) for node in json.loads(page)["items"]]
        self._raw = [_encode(node) for node in self._nodes]
        self._names = [node["metadata"]["name"] for node in self._nodes]
        self._pods = _pods()
        self._number = 0

    def everything(self) -> bytes:
        """A request that brings all nodes."""
        return _full(self._pod(), self._raw)

    def next_request(self) -> BenchRequest:
        """The next request."""
        changed = self._random.sample(range(len(self._nodes)), max(1, int(len(self._nodes) * CHANGED_NODE_SHARE)))
        for position in changed:
            self._change(position)
        pod, start = self._pod(), self._random.randrange(len(self._nodes))
        changes = _full(pod, [self._raw[position] for position in changed])
        if self._names_only:
            names = self._names[start:] + self._names[:start]
            return BenchRequest(
                b"".join((b'{"Pod":', pod, b',"Nodes":null,"NodeNames":', _encode(names), b"}")), changes
            )
        return BenchRequest(_full(pod, self._raw[start:] + self._raw[:start]), changes)

    def _pod(self) -> bytes:
        self._number += 1
        pod = json.loads(self._pods.render(self._number % CONTROLLERS, self._number))
        return _encode(_written_by_go(pod))

    def _change(self, position: int) -> None:
        """A heartbeat; one time in four something that plugins look at, too."""
        node, random = self._nodes[position], self._random
        version = int(node["metadata"]["resourceVersion"]) + 1
        node["metadata"]["resourceVersion"] = str(version)
        beat = f"2026-01-02T{version % 24:02}:{version % 60:02}:00Z"
        for condition in node["status"]["conditions"]:
            condition["lastHeartbeatTime"] = beat
        if random.random() < 0.25:
            node["metadata"]["labels"]["topology.kubernetes.io/zone"] = _zone(random.randrange(_ZONES))
            node["status"]["allocatable"]["cpu"] = f"{random.choice((31850, 31700, 30900))}m"
        self._raw[position] = _encode(node)


def _pods() -> ObjectPattern:
    base = load_object("pod")["object"]
    container = base["spec"]["containers"][0]
    sizes = [
        [overlay(container, {"resources": {"requests": {"cpu": cpu, "memory": "200Mi"}}})]
        for cpu in ("100m", "250m", "31", "31800m")
    ]
    return ObjectPattern(overlay(base, _POD), {"avoid": [_zone(number) for number in range(5)], "containers": sizes})


def _zone(number: int) -> str:
    return f"north-1{'abcdefghij'[number]}"


def _written_by_go(item: dict[str, Any]) -> dict[str, Any]:
    """An object as it stands in the scheduler's cache: without kind, members in the order of Go's structs."""
    metadata = item["metadata"]
    ordered = {key: metadata[key] for key in _METADATA if key in metadata}
    return {"metadata": ordered, "spec": item["spec"], "status": item["status"]}


def _full(pod: bytes, nodes: list[bytes]) -> bytes:
    return b"".join((b'{"Pod":', pod, b',"Nodes":{"metadata":{},"items":[', b",".join(nodes), b']},"NodeNames":null}'))


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
