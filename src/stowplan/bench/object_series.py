"""Nodes and pods of a scenario. Nodes have a realistic size: about 6 kB of JSON each, most of it the list of images."""

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from random import Random
from typing import Any

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.bench.object_pattern import ObjectPattern, Range, overlay
from stowplan.bench.scenario import NodeSeries, PodSeries, load_object

PAGE_NODES = 500
"""Nodes in one page of a list from the API server."""

FIRST_RUNNING_POD_NUMBER = 10_000_000
"""The number of the first running pod, far above those of pending pods: names and uids contain the number."""

_COMMON_IMAGES = 5
_IMAGES_PER_NODE = 20
_ALL_IMAGES = 200


class NodeList(msgspec.Struct, frozen=True):
    """A page of nodes."""

    items: tuple[api.Node, ...] = ()


def node_name(number: int) -> str:
    return f"node-{number}"


def node_pages(count: int, series: NodeSeries, seed: int) -> Iterator[bytes]:
    """The nodes as JSON, page by page."""
    base = load_object("node")
    ranges = {blank: Range(**v) if isinstance(v, dict) else v for blank, v in base["vary"].items()}
    pattern = ObjectPattern(overlay(base["object"], series.node), ranges | series.vary)
    images = [_image(number) for number in range(_ALL_IMAGES)]
    random = Random(seed)
    for first in range(0, count, PAGE_NODES):
        nodes = [pattern.kind(number) for number in range(first, min(count, first + PAGE_NODES))]
        for node in nodes:
            node["status"]["images"] = images[:_COMMON_IMAGES] + random.sample(
                images[_COMMON_IMAGES:], _IMAGES_PER_NODE - _COMMON_IMAGES
            )
        yield json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": nodes}, separators=(",", ":")).encode()


def nodes(count: int, series: NodeSeries, seed: int) -> Iterator[api.Node]:
    """The nodes as a client reads them from lists."""
    for page in node_pages(count, series, seed):
        yield from codec.decode(NodeList, page).items


def pods(
    series: PodSeries, count: int, first: int = 0, node_of: Callable[[int], str] | None = None
) -> Iterator[api.Pod]:
    """The pods of a series as a client decodes them; `node_of` returns the node of a running pod by its number."""
    pattern = ObjectPattern(overlay(load_object("pod")["object"], series.pod), series.vary)
    for number in range(count):
        node = node_of(number) if node_of else ""
        yield codec.decode(api.Pod, pattern.render(series.kind_of(number), first + number, node))


def _image(number: int) -> dict[str, Any]:
    name = f"registry.example.com/shop/service-{number:03}"
    digest = sha256(name.encode()).hexdigest()
    return {
        "names": [f"{name}@sha256:{digest}", f"{name}:v1.{number}.0"],
        "sizeBytes": 20_000_000 + number * 4_000_037,
    }
