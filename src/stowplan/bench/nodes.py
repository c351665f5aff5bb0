"""Nodes of realistic size: some 6 kB of JSON each, most of it the images that they hold."""

import json
from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import Any

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.bench.object_pattern import ObjectPattern, Range, overlay
from stowplan.bench.scenario import NodeSeries, load_object

PAGE = 500
"""Nodes in one answer of a list, as the API server is asked for them."""

_EVERYWHERE = 5
_HELD = 20
_POOL = 200


class NodeList(msgspec.Struct, frozen=True):
    """A page of nodes."""

    items: tuple[api.Node, ...] = ()


def node_name(number: int) -> str:
    return f"node-{number}"


def node_pages(count: int, series: NodeSeries, seed: int) -> Iterator[bytes]:
    """The nodes as JSON, page by page."""
    base = load_object("node")
    ranges = {blank: Range(**v) if isinstance(v, dict) else v for blank, v in base["vary"].items()}
    stencil = ObjectPattern(overlay(base["object"], series.node), ranges | series.vary)
    images = [_image(number) for number in range(_POOL)]
    random = Random(seed)
    for first in range(0, count, PAGE):
        nodes = [stencil.kind(number) for number in range(first, min(count, first + PAGE))]
        for node in nodes:
            node["status"]["images"] = images[:_EVERYWHERE] + random.sample(images[_EVERYWHERE:], _HELD - _EVERYWHERE)
        yield json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": nodes}, separators=(",", ":")).encode()


def nodes(count: int, series: NodeSeries, seed: int) -> Iterator[api.Node]:
    """The nodes as a client reads them from lists."""
    for page in node_pages(count, series, seed):
        yield from codec.decode(NodeList, page).items


def _image(number: int) -> dict[str, Any]:
    name = f"registry.example.com/shop/service-{number:03}"
    digest = sha256(name.encode()).hexdigest()
    return {
        "names": [f"{name}@sha256:{digest}", f"{name}:v1.{number}.0"],
        "sizeBytes": 20_000_000 + number * 4_000_037,
    }
