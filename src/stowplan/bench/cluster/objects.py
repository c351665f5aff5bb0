"""The objects of a workload as JSON for the API server, without the fields that the server sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stowplan.bench.cluster.workload import Arriving, ClusterWorkload
from stowplan.bench.object_pattern import ObjectPattern, overlay
from stowplan.bench.object_series import FIRST_RUNNING_POD_NUMBER, node_name, node_pages
from stowplan.bench.scenario import NodeSeries, PodSeries, load_object

Written = tuple[str, bytes]
"""The name of an object, and its JSON."""

ARRIVING = FIRST_RUNNING_POD_NUMBER // 2
"""The number of the first pod that arrives while the scheduler works."""

_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp")


def nodes(series: NodeSeries, numbers: range, seed: int) -> Iterator[Written]:
    """The nodes with these numbers."""
    at = 0
    for page in node_pages(numbers.stop, series, seed):
        for node in json.loads(page)["items"]:
            if at >= numbers.start:
                yield node["metadata"]["name"], json.dumps(_without_server_fields(node)).encode()
            at += 1


def incoming(workload: ClusterWorkload, count: int) -> Iterator[Written]:
    """The pending pods."""
    return _pods(workload.incoming, count, 0, lambda number: "")


def arriving(series: Arriving) -> Iterator[Written]:
    """The pods that are created while the scheduler works."""
    return _pods(series, series.count, ARRIVING, lambda number: "")


def running(workload: ClusterWorkload, node_count: int) -> Iterator[Written]:
    """The pods that run on the nodes at the start."""
    series = workload.running
    if series is None:
        return iter(())
    return _pods(
        series, series.per_node * node_count, FIRST_RUNNING_POD_NUMBER, lambda number: node_name(number % node_count)
    )


def beside_nodes(workload: ClusterWorkload, node_count: int) -> Iterator[tuple[str, Written]]:
    """Objects that accompany each node, with their kind."""
    return _beside(workload.per_node, node_count)


def beside_pods(workload: ClusterWorkload, count: int) -> Iterator[tuple[str, Written]]:
    """Objects that accompany each pending pod, with their kind."""
    return _beside(workload.per_pod, count)


def beside(workload: ClusterWorkload, count: int) -> Iterator[tuple[str, Written]]:
    """Objects that are created before `count` pending pods, with their kind."""
    for series in workload.beside:
        pattern = ObjectPattern(series.object, {"pods_each": [count // series.count]})
        for number in range(series.count):
            body = pattern.render(number % series.kinds, number)
            yield series.object["kind"], (json.loads(body)["metadata"]["name"], body)


def _beside(patterns: Iterable[dict[str, Any]], count: int) -> Iterator[tuple[str, Written]]:
    for fields in patterns:
        pattern = ObjectPattern(fields, {})
        for number in range(count):
            body = pattern.render(0, number, node_name(number))
            yield fields["kind"], (json.loads(body)["metadata"]["name"], body)


def _pods(series: PodSeries, count: int, first: int, node_of: Callable[[int], str]) -> Iterator[Written]:
    fields = _without_server_fields(overlay(load_object("pod")["object"], series.pod))
    del fields["status"]
    pattern = ObjectPattern(fields, series.vary)
    for number in range(count):
        body = pattern.render(series.kind_of(number), first + number, node_of(number))
        yield json.loads(body)["metadata"]["name"], body


def _without_server_fields(item: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in item["metadata"].items() if name not in _SERVER_FIELDS}
    return item | {"metadata": meta}
