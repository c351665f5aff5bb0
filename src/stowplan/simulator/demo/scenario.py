"""The scenario: nodes, manifests with the time of their application, and failures."""

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
    """Base of the scenario's structs."""


class NodePool(_DemoData, frozen=True, kw_only=True):
    """Nodes of one size."""

    name: str
    share: float
    node: dict[str, Any]
    devices: tuple[dict[str, Any], ...] = ()
    """Devices that a driver publishes for each node."""


class Finish(_DemoData, frozen=True, kw_only=True):
    """Deletion of the oldest objects of a kind."""

    kind: str
    namespace: str
    first: int


class ScenarioStep(_DemoData, frozen=True, kw_only=True):
    """A step, once or repeated."""

    at: float
    say: str
    every: float = 0.0
    times: int = 1
    apply: str = ""
    """Manifests to apply."""
    lift: str = ""
    """A scheduling gate to remove from all pods."""
    finish: Finish | None = None
    lose: int = 0
    """Number of nodes to delete."""


class DemoScenario(_DemoData, frozen=True, kw_only=True):
    """The file `scenario.yaml`."""

    nodes: int
    """The number of nodes for which the numbers of pods are chosen."""
    seconds: float
    zones: tuple[str, ...]
    pools: tuple[NodePool, ...]
    steps: tuple[ScenarioStep, ...]

    def make_slices(self, nodes: Iterable[api.Node]) -> Iterator[api.ResourceSlice]:
        """The ResourceSlices of the nodes."""
        devices = {pool.name: pool.devices for pool in self.pools if pool.devices}
        for node in nodes:
            pool = node.metadata.labels[POOL]
            if pool in devices:
                yield _slice(node.metadata.name, devices[pool])

    def make_nodes(self, count: int) -> Iterator[api.Node]:
        """Nodes by the shares of the pools, distributed over the zones."""
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
    """A manifest file for its n-th application."""
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
