"""The objects of a workload as a client writes them: JSON, without what the API server fills in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stowplan.bench.cluster.workload import ClusterWorkload
from stowplan.bench.nodes import node_name, node_pages
from stowplan.bench.object_pattern import ObjectPattern, overlay
from stowplan.bench.pods import RUNNING
from stowplan.bench.scenario import NodeSeries, PodSeries, load_object

Written = tuple[str, bytes]
"""The name of an object, and its JSON."""

_FILLED_IN = ("uid", "resourceVersion", "creationTimestamp")


def nodes(series: NodeSeries, numbers: range, seed: int) -> Iterator[Written]:
    """Nodes of these numbers."""
    at = 0
    for page in node_pages(numbers.stop, series, seed):
        for node in json.loads(page)["items"]:
            if at >= numbers.start:
                yield node["metadata"]["name"], json.dumps(_unmade(node)).encode()
            at += 1


def incoming(workload: ClusterWorkload, count: int) -> Iterator[Written]:
    """The pods that are to be scheduled."""
    return _pods(workload.incoming, count, 0, lambda number: "")


def running(workload: ClusterWorkload, node_count: int) -> Iterator[Written]:
    """The pods that are on the nodes before."""
    series = workload.running
    if series is None:
        return iter(())
    return _pods(series, series.per_node * node_count, RUNNING, lambda number: node_name(number % node_count))


def beside_nodes(workload: ClusterWorkload, node_count: int) -> Iterator[tuple[str, Written]]:
    """What comes with the nodes, each with its kind."""
    return _beside(workload.per_node, node_count)


def beside_pods(workload: ClusterWorkload, count: int) -> Iterator[tuple[str, Written]]:
    """What comes with the pods that are to be scheduled, each with its kind."""
    return _beside(workload.per_pod, count)


def _beside(patterns: Iterable[dict[str, Any]], count: int) -> Iterator[tuple[str, Written]]:
    for pattern in patterns:
        stencil = ObjectPattern(pattern, {})
        for number in range(count):
            body = stencil.stamp(0, number, node_name(number))
            yield pattern["kind"], (json.loads(body)["metadata"]["name"], body)


def _pods(series: PodSeries, count: int, first: int, node_of: Callable[[int], str]) -> Iterator[Written]:
    pattern = _unmade(overlay(load_object("pod")["object"], series.pod))
    del pattern["status"]
    stencil = ObjectPattern(pattern, series.vary)
    for number in range(count):
        body = stencil.stamp(series.kind_of(number), first + number, node_of(number))
        yield json.loads(body)["metadata"]["name"], body


def _unmade(item: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in item["metadata"].items() if name not in _FILLED_IN}
    return item | {"metadata": meta}
