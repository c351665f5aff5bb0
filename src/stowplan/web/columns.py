"""Nodes as columns of the page's JSON.

`copy_nodes` and `copy_changes` run on the thread that owns the cluster and only copy references and numbers: 0.6 ms for
all of 5,000 nodes. Everything else works on the copies, on any thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Pod
from stowplan.insight.slices import Slices
from stowplan.web.wire import (
    CORDONED,
    JUST_JOINED,
    NO_NODE,
    NOT_READY,
    PRESSURE,
    Constant,
    Indexed,
    Ints,
    NodeColumns,
)

T = TypeVar("T")

MAX_RESOURCES = 16
_MAX_LABELS = 24
_MIN_LABEL_VALUES, _MAX_LABEL_VALUES = 2, 64
_JUST_JOINED_SECONDS = 300
_NODES_PER_SLICE = 1000
_BASIC_RESOURCES = ("cpu", "memory", "pods")
_HOST_NAME = "kubernetes.io/hostname"
_GROUPING_LABELS = (
    "topology.kubernetes.io/zone",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
)
"""Labels that are offered first, even if all nodes have the same value."""
_POOL_WORDS = ("pool", "nodegroup", "rack")
_NOT_READY_TAINTS = frozenset(("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"))
_PRESSURES = frozenset(("MemoryPressure", "DiskPressure", "PIDPressure"))


class Times(NamedTuple):
    """The page's time, and the start of its times, in seconds since 1970."""

    now: float
    start: float = 0.0


class NodesCopy(NamedTuple):
    """Some nodes of a cluster, or all; lists by position in `slots`."""

    position: int
    """In the log of all changes."""
    node_position: int
    """In the log of changes of node objects."""
    slots: Sequence[int]
    nodes: list[api.Node | None] | None
    """None if no node object has changed."""
    allocatable: dict[str, list[int]]
    """Empty if no node object has changed."""
    requested: dict[str, list[int]]
    pods: list[tuple[Pod, ...]] | None = None
    """The pods of each node, if they were copied."""


def copy_nodes(cluster: Cluster) -> NodesCopy:
    """All nodes."""
    table = cluster.nodes
    return _copy(cluster, range(table.high), with_objects=True)


def copy_pods(cluster: Cluster) -> Slices[list[tuple[Pod, ...]]]:
    """The pods of each slot; pods that move meanwhile are in the change log."""
    found: list[tuple[Pod, ...]] = []
    for start in range(0, cluster.nodes.high, _NODES_PER_SLICE):
        found += [_pods(cluster, slot) for slot in range(start, min(start + _NODES_PER_SLICE, cluster.nodes.high))]
        yield
    return found


def _pods(cluster: Cluster, slot: int) -> tuple[Pod, ...]:
    info = cluster.nodes.infos[slot]
    return () if info is None else tuple(info.residents.values())


def copy_changes(cluster: Cluster, position: int, node_position: int, *, pods: bool = False) -> NodesCopy:
    """The nodes that changed at or after the positions, with their pods if wanted."""
    table = cluster.nodes
    if table.log.position == position:
        return NodesCopy(position, node_position, (), None, {}, {})
    slots = [slot for slot in table.log.changed_since(position).tolist() if slot < table.high]
    copy = _copy(cluster, slots, with_objects=table.node_log.position != node_position)
    return copy._replace(pods=[_pods(cluster, slot) for slot in slots]) if pods else copy


def _copy(cluster: Cluster, slots: Sequence[int], *, with_objects: bool) -> NodesCopy:
    table = cluster.nodes
    infos = table.infos
    columns = {**table.requested, "pods": table.pod_count}
    offered = {**table.allocatable, "pods": table.allowed_pods}
    return NodesCopy(
        table.log.position,
        table.node_log.position,
        slots,
        [None if (info := infos[slot]) is None else info.node for slot in slots] if with_objects else None,
        {name: _picked(column.values, slots) for name, column in offered.items()} if with_objects else {},
        {name: _picked(column.values, slots) for name, column in columns.items()},
    )


def _picked(values: list[int] | dict[int, int], slots: Sequence[int]) -> list[int]:
    if isinstance(values, list):
        return values[: len(slots)] if isinstance(slots, range) else [values[slot] for slot in slots]
    return [values[slot] for slot in slots] if values else [0] * len(slots)


def resources_of(allocatable: dict[str, list[int]]) -> list[str]:
    """cpu, memory and pods, then the resources that any node offers, the most frequent first."""
    offered = {name: sum(map(bool, amounts)) for name, amounts in allocatable.items() if name not in _BASIC_RESOURCES}
    others = sorted((name for name, nodes in offered.items() if nodes), key=lambda name: (-offered[name], name))
    return [*_BASIC_RESOURCES, *others][:MAX_RESOURCES]


def grouping_labels(nodes: Iterable[api.Node | None]) -> list[str]:
    """The labels that nodes can be grouped by, the likely ones first."""
    values: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    present = [node.metadata.labels for node in nodes if node is not None]
    for labels in present:
        counts.update(labels.keys())
        for key, value in labels.items():
            known = values.setdefault(key, set())
            if len(known) <= _MAX_LABEL_VALUES:
                known.add(value)
    values.pop(_HOST_NAME, None)

    def rank(key: str) -> tuple[int, int, str]:
        if key in _GROUPING_LABELS:
            return 0, _GROUPING_LABELS.index(key), key
        return 1 if any(word in key for word in _POOL_WORDS) else 2, len(values[key]), key

    values = {key: {*found, *([""] if counts[key] < len(present) else [])} for key, found in values.items()}
    offered = [
        key
        for key, found in values.items()
        if len(found) <= _MAX_LABEL_VALUES and (key in _GROUPING_LABELS or len(found) >= _MIN_LABEL_VALUES)
    ]
    return sorted(offered, key=rank)[:_MAX_LABELS]


def node_columns(copy: NodesCopy, resources: Sequence[str], labels: Sequence[str], times: Times) -> NodeColumns:
    """The columns of a copy with node objects."""
    nodes = copy.nodes or []
    return NodeColumns(
        name=["" if node is None else node.metadata.name for node in nodes],
        labels={key: indexed(_labels(nodes, key)) for key in labels},
        allocatable={name: column(copy.allocatable.get(name, [0] * len(nodes))) for name in resources},
        requested={name: column(copy.requested.get(name, [0] * len(nodes))) for name in resources},
        taints=indexed(["" if node is None else ",".join(map(taint_text, node.spec.taints)) for node in nodes]),
        flags=column([flags_of(node, times) for node in nodes]),
        created=column([0 if node is None else unix_seconds(node.metadata.creation_timestamp) for node in nodes]),
    )


def _labels(nodes: list[api.Node | None], key: str) -> list[str]:
    return ["" if node is None else node.metadata.labels.get(key, "") for node in nodes]


def column(values: list[int]) -> Ints:
    """The values, or one of them if they are equal."""
    return Constant(values[0]) if len(values) > 1 and values.count(values[0]) == len(values) else values


def indexed(texts: list[str]) -> Indexed:
    """A column of texts, the most frequent first among the values."""
    values = [text for text, _ in Counter(texts).most_common()]
    numbers = {text: number for number, text in enumerate(values)}
    return Indexed(values=values, index=column([numbers[text] for text in texts]))


def flags_of(node: api.Node | None, times: Times) -> int:
    """The bits of `wire.NodeColumns.flags`."""
    if node is None:
        return NO_NODE
    conditions = {each.type: each.status for each in node.status.conditions}
    taints = {taint.key for taint in node.spec.taints}
    not_ready = conditions.get("Ready", "True") != "True" or not taints.isdisjoint(_NOT_READY_TAINTS)
    pressure = any(conditions.get(name) == "True" for name in _PRESSURES)
    age = times.start + times.now - (created := unix_seconds(node.metadata.creation_timestamp))
    # Manifests of a simulation may have times of another clock, before or after those of the simulation.
    joined = created > times.start and abs(age) < _JUST_JOINED_SECONDS
    return (
        (CORDONED if node.spec.unschedulable else 0)
        | (NOT_READY if not_ready else 0)
        | (PRESSURE if pressure else 0)
        | (JUST_JOINED if joined else 0)
    )


def taint_text(taint: api.Taint) -> str:
    """`key=value:Effect`."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def unix_seconds(timestamp: str | None) -> int:
    """Seconds since 1970 of a time in RFC 3339; 0 if it is missing or invalid."""
    if not timestamp:
        return 0
    try:
        found = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    return int(found.replace(tzinfo=found.tzinfo or UTC).timestamp())
