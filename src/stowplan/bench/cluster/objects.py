"""The objects of a workload as a client writes them: JSON, without what the API server fills in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from stowplan.bench.cluster.workload import Workload
from stowplan.bench.nodes import node_name, node_pages
from stowplan.bench.pods import RUNNING
from stowplan.bench.scenario import NodeSeries, PodSeries, load_object
from stowplan.bench.stencil import Stencil, overlay

_FILLED_IN = ("uid", "resourceVersion", "creationTimestamp")


def node_bodies(series: NodeSeries, numbers: range, seed: int) -> Iterator[bytes]:
    """Nodes of these numbers."""
    at = 0
    for page in node_pages(numbers.stop, series, seed):
        for node in json.loads(page)["items"]:
            if at >= numbers.start:
                yield json.dumps(_unmade(node)).encode()
            at += 1


def incoming_bodies(workload: Workload, count: int) -> Iterator[bytes]:
    """The pods that are to be scheduled."""
    return _pod_bodies(workload.incoming, count, 0, lambda number: "")


def running_bodies(workload: Workload, nodes: int) -> Iterator[bytes]:
    """The pods that are on the nodes before."""
    running = workload.running
    if running is None:
        return iter(())
    return _pod_bodies(running, running.per_node * nodes, RUNNING, lambda number: node_name(number % nodes))


def _pod_bodies(series: PodSeries, count: int, first: int, node_of: Callable[[int], str]) -> Iterator[bytes]:
    pattern = _unmade(overlay(load_object("pod")["object"], series.pod))
    del pattern["status"]
    stencil = Stencil(pattern, series.vary)
    for number in range(count):
        yield stencil.stamp(series.kind_of(number), first + number, node_of(number))


def _unmade(item: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in item["metadata"].items() if name not in _FILLED_IN}
    return item | {"metadata": meta}
