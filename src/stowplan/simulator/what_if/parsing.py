"""Changes from the text of options: `cpu=500m,memory=1Gi`, `Deployment/web=5`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan.api import quantity
from stowplan.errors import InputError
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
from stowplan.simulator.what_if.workload_changes import DeleteObject, PlaceAgain, ScaleWorkload, SetRequests


def change(name: str, value: Any) -> Any:
    """The change of an option, by the option's name with underscores."""
    return _CHANGES[name.rstrip("_")](value)


def nodes_like(count: int, like: str) -> AddNodes:
    return AddNodes(add=count, like=like)


def number(text: str, what: str, least: int = 1) -> int:
    """A number of at least `least`."""
    if not text.isdecimal() or int(text) < least:
        raise InputError(f"{what}{'' if what.endswith('=') else ' '}{text}: a number of at least {least} is expected")
    return int(text)


def requests(text: str) -> dict[str, str]:
    """Quantities by resource: `cpu=500m,app:memory=1Gi`."""
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, amount = part.partition("=")
        if not equals or not key:
            raise InputError(f"--set {text}: RESOURCE=QUANTITY,... is expected")
        try:
            quantity.parse(amount)
        except quantity.QuantityError as problem:
            raise InputError(f"--set {part}: {problem}") from problem
        found[key] = amount
    return found


def _scale(text: str) -> ScaleWorkload:
    workload, equals, replicas = text.rpartition("=")
    if not equals:
        raise InputError(f"--scale {text}: WORKLOAD=N is expected")
    return ScaleWorkload(workload, number(replicas, f"--scale {workload}=", 0))


def _weight(text: str) -> SetWeight:
    plugin, equals, weight = text.partition("=")
    if not equals:
        raise InputError(f"--weight {text}: PLUGIN=WEIGHT is expected")
    return SetWeight(plugin, number(weight, f"--weight {plugin}="))


_CHANGES: dict[str, Callable[[Any], Any]] = {
    "drain": DrainNodes,
    "fail": FailNodes,
    "cordon": CordonNodes,
    "uncordon": UncordonNodes,
    "taint": lambda value: TaintNodes(*value),
    "label": lambda value: LabelNodes(*value),
    "set": lambda value: SetRequests(value[0], requests(value[1])),
    "scale": _scale,
    "delete": DeleteObject,
    "weight": _weight,
    "without": RemovePlugin,
    "again": PlaceAgain,
}
"""By the option's name."""
