"""Questions of `Cluster.what_if`: keyword arguments to the changes of `simulator.what_if`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypedDict

from msgspec.structs import replace

from stowplan import api
from stowplan.errors import InputError
from stowplan.library.sources import Manifests, layer_of, layer_reader
from stowplan.simulator.what_if.node_changes import (
    AddNodes,
    CordonNodes,
    DrainNodes,
    FailNodes,
    LabelNodes,
    TaintNodes,
    UncordonNodes,
)
from stowplan.simulator.what_if.profile_changes import RemovePlugin, SetWeight
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.what_if.serialized import plain
from stowplan.simulator.what_if.workload_changes import (
    ApplyManifests,
    DeleteObject,
    PlaceAgain,
    ScaleWorkload,
    SetRequests,
)

Several = str | Iterable[str]


class Changes(TypedDict, total=False):
    """Changes, made in this order. Nodes are named by name or by `KEY=VALUE`; a string stands for a list of one."""

    disable: Several
    """Plugins that are taken out of all profiles."""
    weights: Mapping[str, int]
    """Weights by plugin."""
    uncordon: Several
    cordon: Several
    taint: Mapping[str, str]
    """By node: `KEY=VALUE:EFFECT`, or `KEY:EFFECT-` to remove a taint."""
    label: Mapping[str, str]
    """By node: `KEY=VALUE`, or `KEY-` to remove a label."""
    fail: Several
    """Nodes that are gone with their pods."""
    drain: Several
    """Nodes that are drained and removed; budgets in the way are listed."""
    add_nodes: int
    like: str | api.Node
    """The node of which `add_nodes` copies are added."""
    delete: Several
    """Objects: `Deployment/web`."""
    requests: Mapping[str, Mapping[str, str]]
    """By workload or pod: other requests, `{"cpu": "500m"}`."""
    scale: Mapping[str, int]
    """By workload: replicas."""
    apply: Manifests | Iterable[Manifests]
    again: Several
    """Namespaces or workloads whose pods are placed again; `all` for all."""


def changes_of(changes: Changes) -> Iterator[Any]:
    """The changes as `simulator.what_if` has them."""
    yield from map(RemovePlugin, _several(changes.get("disable", ())))
    yield from (SetWeight(name, weight) for name, weight in changes.get("weights", {}).items())
    yield from map(UncordonNodes, _several(changes.get("uncordon", ())))
    yield from map(CordonNodes, _several(changes.get("cordon", ())))
    yield from (TaintNodes(node, taint) for node, taint in changes.get("taint", {}).items())
    yield from (LabelNodes(node, label) for node, label in changes.get("label", {}).items())
    yield from map(FailNodes, _several(changes.get("fail", ())))
    yield from map(DrainNodes, _several(changes.get("drain", ())))
    yield from _added(changes.get("add_nodes", 0), changes.get("like", ""))
    yield from map(DeleteObject, _several(changes.get("delete", ())))
    yield from (SetRequests(name, dict(requests)) for name, requests in changes.get("requests", {}).items())
    yield from (ScaleWorkload(name, replicas) for name, replicas in changes.get("scale", {}).items())
    for layer in layer_of(_manifests(changes.get("apply", ())), "the manifests"):
        yield ApplyManifests(layer.name, layer_reader([layer]))
    yield from map(PlaceAgain, _several(changes.get("again", ())))


def _several(given: Several) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _manifests(given: Any) -> list[Manifests]:
    is_single = isinstance(given, str | bytes | Mapping | os.PathLike) or hasattr(given, "__struct_fields__")
    return [given] if is_single else list(given)


def _added(number: int, like: str | api.Node) -> Iterator[AddNodes]:
    if number and not like:
        raise InputError("add_nodes: `like` names the node to copy")
    if number:
        name = like if isinstance(like, str) else like.metadata.name
        yield AddNodes(add=number, like=name, node=None if isinstance(like, str) else like)


def as_data(answer: WhatIfAnswer) -> WhatIfAnswer:
    """The answer with its changes as plain data."""
    return replace(answer, changes=tuple(plain(answer)["changes"]))
