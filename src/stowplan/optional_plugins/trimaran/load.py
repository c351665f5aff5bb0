"""Load metrics of nodes as values, and their wire format: that of load-watcher.

Upstream: github.com/paypal/load-watcher/pkg/watcher (WatcherMetrics)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from stowplan.errors import InputError

CPU, MEMORY = "CPU", "Memory"
AVERAGE, DEVIATION, LATEST = "AVG", "STD", "Latest"
MAX_PERCENT = 10_000
"""A value above it is not a percentage. Above 100, a node is measured as busier than its capacity allows."""


class LoadError(InputError):
    """Load metrics that cannot be fetched or read."""


class Metric(msgspec.Struct, frozen=True, rename="camel"):
    """One value of a node, in percent of its capacity."""

    type: str = ""
    operator: str = ""
    value: float = 0.0
    name: str = ""


class _Window(msgspec.Struct, frozen=True):
    end: float = 0.0


class _NodeMetrics(msgspec.Struct, frozen=True):
    metrics: tuple[Metric, ...] | None = ()


class _Data(msgspec.Struct, frozen=True):
    nodes: dict[str, _NodeMetrics] | None = msgspec.field(default=None, name="NodeMetricsMap")


class _WatcherMetrics(msgspec.Struct, frozen=True):
    data: _Data
    window: _Window = _Window()


class Usage(NamedTuple):
    """Mean and standard deviation of a resource's use, in percent."""

    average: float
    deviation: float


class NodeLoad(NamedTuple):
    """The load of one node. None: no metrics of the resource."""

    packing_cpu: float | None
    """TargetLoadPacking's cpu value: the last one with operator AVG or Latest."""
    cpu: Usage | None
    memory: Usage | None


class LoadSnapshot(NamedTuple):
    """The load of all nodes at one time."""

    nodes: Mapping[str, NodeLoad]
    window_end: float
    """End of the measured interval, in seconds since 1970; 0 if the source does not report it."""
    rejected: str = ""
    """The first value that is not a percentage, and the number of them; empty if there is none."""


def decode_watcher_metrics(body: bytes) -> LoadSnapshot:
    """Metrics from load-watcher's JSON. Raises LoadError."""
    try:
        found = msgspec.json.decode(body, type=_WatcherMetrics)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise LoadError(f"not load-watcher's JSON: {problem}") from problem
    nodes = found.data.nodes or {}
    return snapshot_of({name: node.metrics or () for name, node in nodes.items()}, found.window.end)


def snapshot_of(metrics: Mapping[str, Iterable[Metric]], window_end: float) -> LoadSnapshot:
    """The snapshot of metrics by node. Values that are not percentages are left out."""
    rejected: list[str] = []
    nodes: dict[str, NodeLoad] = {}
    for name, listed in metrics.items():
        good = []
        for metric in listed:
            if 0 <= metric.value <= MAX_PERCENT:
                good.append(metric)
            else:
                rejected.append(f"{name} {metric.type} {metric.operator} {metric.value:g}")
        nodes[name] = NodeLoad(_packing_cpu(good), _usage(good, CPU), _usage(good, MEMORY))
    text = f"{rejected[0]}, {len(rejected)} in all" if rejected else ""
    return LoadSnapshot(nodes, window_end, text)


def _packing_cpu(metrics: Iterable[Metric]) -> float | None:
    values = [metric.value for metric in metrics if metric.type == CPU and metric.operator in (AVERAGE, LATEST)]
    return values[-1] if values else None


def _usage(metrics: Iterable[Metric], type_: str) -> Usage | None:
    """Average and deviation. The latest value stands for a missing average."""
    values = {metric.operator: metric.value for metric in metrics if metric.type == type_}
    if not values:
        return None
    latest = values.get(LATEST, values.get("", 0.0))
    return Usage(values.get(AVERAGE, latest), values.get(DEVIATION, 0.0))
