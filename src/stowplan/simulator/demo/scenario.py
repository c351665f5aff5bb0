"""The scenario: which nodes there are, what is applied when, and what else befalls the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from string import Template
from typing import Any

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.config import yaml_text

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
POOL = "example.com/pool"
DRIVER = "gpu.example.com"

_PACKAGE = files(__package__)


class _DemoData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what the scenario is made of."""


class NodePool(_DemoData, frozen=True, kw_only=True):
    """Nodes of one size."""

    name: str
    share: float
    node: dict[str, Any]
    devices: tuple[dict[str, Any], ...] = ()
    """What a driver publishes of each of them."""


class Finish(_DemoData, frozen=True, kw_only=True):
    """Objects that come to their end: so many of a kind, the oldest first."""

    kind: str
    namespace: str
    first: int


class Step(_DemoData, frozen=True, kw_only=True):
    """Something that happens, once or several times."""

    at: float
    say: str
    every: float = 0.0
    times: int = 1
    apply: str = ""
    """Manifests to apply."""
    lift: str = ""
    """A scheduling gate that is taken off all pods."""
    finish: Finish | None = None
    lose: int = 0
    """How many nodes fail."""


class DemoScenario(_DemoData, frozen=True, kw_only=True):
    """The file `scenario.yaml`."""

    nodes: int
    """The number of nodes that numbers of pods are meant for."""
    seconds: float
    zones: tuple[str, ...]
    pools: tuple[NodePool, ...]
    steps: tuple[Step, ...]

    def make_slices(self, nodes: Iterable[api.Node]) -> Iterator[api.ResourceSlice]:
        """The devices of these nodes."""
        devices = {pool.name: pool.devices for pool in self.pools if pool.devices}
        for node in nodes:
            pool = node.metadata.labels[POOL]
            if pool in devices:
                yield _slice(node.metadata.name, devices[pool])

    def make_nodes(self, count: int) -> Iterator[api.Node]:
        """So many nodes, of each pool its share, over all zones in turn."""
        counts = [round(count * pool.share) for pool in self.pools]
        counts[0] = max(count - sum(counts[1:]), 0)
        made = 0
        for pool, number in zip(self.pools, counts, strict=True):
            for index in range(number):
                yield _node(pool, self.zones[made % len(self.zones)], index // len(self.zones) + 1)
                made += 1


def load_scenario() -> DemoScenario:
    return codec.convert(DemoScenario, yaml_text.parse(_text("scenario.yaml")))


def manifest_text(name: str, number: int) -> bytes:
    """A file of manifests, for the n-th time that it is applied."""
    return Template(_text(name)).substitute(n=number).encode()


def _text(name: str) -> str:
    return _PACKAGE.joinpath(name).read_text(encoding="utf-8")


def _node(pool: NodePool, zone: str, number: int) -> api.Node:
    name = f"{zone}-{pool.name}-{number}"
    metadata = pool.node.get("metadata", {})
    labels = {**metadata.get("labels", {}), HOSTNAME: name, ZONE: zone, POOL: pool.name}
    return codec.convert(api.Node, {**pool.node, "metadata": {**metadata, "name": name, "labels": labels}})


def _slice(node: str, devices: tuple[dict[str, Any], ...]) -> api.ResourceSlice:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return codec.convert(api.ResourceSlice, {"metadata": {"name": f"{node}-{DRIVER}"}, "spec": spec})
