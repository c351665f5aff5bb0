"""Use of nodes: by resource, with fragmentation and the largest hole, and by zone or another label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median, pstdev

import msgspec

from stowplan.cache.columns import Column
from stowplan.cache.nodes import NodeTable
from stowplan.cache.volumes import ZONE

WITHOUT_LABEL = "-"
_ALIASES = {"zone": ZONE, "region": "topology.kubernetes.io/region", "hostname": "kubernetes.io/hostname"}


class ResourceUse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One resource over some nodes. Amounts are in the report's units; free amounts are those of schedulable nodes."""

    resource: str
    requested: int
    allocatable: int
    free: int
    largest_hole: int
    """The largest free amount on one node."""
    largest_request: int
    """The largest request of one pod, for which fragmentation is computed."""
    nodes_for_largest: int
    """Nodes with as much free as the largest request."""
    fragmented: float
    """The share of the free amount that pods with the largest request cannot use, from 0 to 1."""
    lowest: float
    """Requested share of the least used node, in percent."""
    median: float
    highest: float
    deviation: float
    """The standard deviation of the requested shares, in percentage points."""


class GroupUse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes with the same value of a label."""

    label: str
    value: str
    nodes: int
    pods: int
    use: tuple[ResourceUse, ...]


def label_key(key: str, labels: Iterable[Mapping[str, str]]) -> str:
    """The label key; `zone`, `region` and `hostname` are short for Kubernetes' labels unless a node has them."""
    return _ALIASES[key] if key in _ALIASES and not any(key in each for each in labels) else key


def use_of(nodes: NodeTable, requests: dict[str, int], slots: Sequence[int] | None = None) -> tuple[ResourceUse, ...]:
    """The use of all nodes, or of some slots; `requests` has the largest request of one pod for each resource."""
    chosen = [info.slot for info in nodes] if slots is None else slots
    return tuple(_use(nodes, resource, largest, chosen) for resource, largest in requests.items())


def groups_of(nodes: NodeTable, requests: dict[str, int], label: str = "") -> Iterator[GroupUse]:
    """The use by the values of a label, by default the zone; none if no node has it."""
    key = label_key(label, (info.labels for info in nodes)) if label else ZONE
    slots: dict[str, list[int]] = {}
    for info in nodes:
        slots.setdefault(info.labels.get(key, WITHOUT_LABEL), []).append(info.slot)
    if not label and set(slots) <= {WITHOUT_LABEL}:
        return
    counts = nodes.pod_count.values
    for value in sorted(slots, key=lambda value: (value == WITHOUT_LABEL, value)):
        members = slots[value]
        yield GroupUse(
            label=key,
            value=value,
            nodes=len(members),
            pods=sum(counts[slot] for slot in members),
            use=use_of(nodes, requests, members),
        )


def largest_requests(requests: Iterable[dict[str, int]], always: Sequence[str]) -> dict[str, int]:
    """For each resource that pods request the largest request; resources in `always` come first."""
    found: dict[str, int] = dict.fromkeys(always, 0)
    extended: dict[str, int] = {}
    for amounts in requests:
        for name, amount in amounts.items():
            into = found if name in found else extended
            into[name] = max(into.get(name, 0), amount)
    return {**found, **{name: extended[name] for name in sorted(extended) if extended[name]}}


def _use(nodes: NodeTable, resource: str, largest: int, slots: Sequence[int]) -> ResourceUse:
    requested, allocatable = (_values(columns.get(resource), slots) for columns in (nodes.requested, nodes.allocatable))
    free = [
        max(0, whole - part)
        for slot, part, whole in zip(slots, requested, allocatable, strict=True)
        if (info := nodes.infos[slot]) is not None and not info.node.spec.unschedulable
    ]
    total = sum(free)
    shares = [100 * part / whole for part, whole in zip(requested, allocatable, strict=True) if whole] or [0.0]
    unusable = sum(amount % largest for amount in free) if largest else 0
    return ResourceUse(
        resource=resource,
        requested=sum(requested),
        allocatable=sum(allocatable),
        free=total,
        largest_hole=max(free, default=0),
        largest_request=largest,
        nodes_for_largest=sum(amount >= largest for amount in free),
        fragmented=round(unusable / total, 4) if total else 0.0,
        lowest=round(min(shares), 1),
        median=round(median(shares), 1),
        highest=round(max(shares), 1),
        deviation=round(pstdev(shares), 1),
    )


def _values(column: Column | None, slots: Sequence[int]) -> list[int]:
    """The values of some slots; a resource that no node has may be without a column."""
    return [0] * len(slots) if column is None else [column.values[slot] for slot in slots]
