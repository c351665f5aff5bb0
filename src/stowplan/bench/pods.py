"""Pods in series, as they come from an API server: made of JSON, read by the codec."""

from collections.abc import Callable, Iterator

from stowplan import api
from stowplan.api import codec
from stowplan.bench.object_pattern import ObjectPattern, overlay
from stowplan.bench.scenario import PodSeries, load_object

RUNNING = 10_000_000
"""The first number of pods that run already, far above those that are decided: numbers make names and uids."""


def pods(
    series: PodSeries, count: int, first: int = 0, node_of: Callable[[int], str] | None = None
) -> Iterator[api.Pod]:
    """The pods of a series; `node_of` tells by number the node that a pod is on, where it is on one."""
    stencil = ObjectPattern(overlay(load_object("pod")["object"], series.pod), series.vary)
    for number in range(count):
        node = node_of(number) if node_of else ""
        yield codec.decode(api.Pod, stencil.stamp(series.kind_of(number), first + number, node))
