"""Rejections by NodeAffinity in words: what the selector wants, what the node has, and the smallest changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from stowplan import framework as fwk
from stowplan.api.near_names import is_near
from stowplan.api.selectors import DOES_NOT_EXIST, GT, IN, LT, NOT_IN, parse_int64
from stowplan.plugins.node_affinity.demands import (
    REQUIRED_PATH,
    SELECTOR_PATH,
    NodeAlternative,
    NodeDemand,
    NodeDemands,
    escaped,
)

_EFFORT = 3.0
_EFFORT_NEAR, _EFFORT_DROP = 2.9, 3.2
"""Another spelling is smaller than another value, which is smaller than no requirement."""

_LABELS_OF_THE_PLATFORM = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)
"""Labels that say what a node is; no change of them is proposed."""


class _Part(NamedTuple):
    """A change of one requirement of the pod."""

    text: str
    effort: float
    operations: tuple[fwk.PatchOperation, ...]
    drops: NodeDemand | None = None


def explain_own(demands: NodeDemands, pod: fwk.Pod, node: fwk.NodeInfo, names: Iterable[str]) -> fwk.Refusal:
    """The refusal of a node by the pod's own selector."""
    unmet = demands.unmet(node)
    alternatives = len(demands.alternatives or ())
    closest = f" (closest of {alternatives} alternatives)" if alternatives > 1 else ""
    missing = [
        value
        for demand in unmet
        if demand.is_field and demand.requirement.operator == IN
        for value in demand.requirement.values
        if value not in names
    ]
    if unmet:
        text = _wants(unmet, node) + closest
        text += f"; there is no node {', '.join(missing)}" if missing else ""
    else:
        text = "its node affinity matches no node" + ("" if demands.errors else ": none of its terms has a requirement")
    return fwk.Refusal(
        id="affinity.node",
        text=text,
        wanted=demands.words or "the terms of its node affinity",
        there=_there(unmet, node),
        lasting=True,
        facts=_facts(demands, unmet, node) | ({"noSuchNode": missing} if missing else {}),
        changes=_changes(demands, unmet, node),
        notes=tuple(f"A term of its node affinity matches no node: {error}." for error in demands.errors),
    )


def explain_added(demands: NodeDemands, node: fwk.NodeInfo) -> fwk.Refusal:
    """The refusal of a node by the affinity that the configuration adds to all pods."""
    unmet = demands.unmet(node)
    label = _label_node(unmet, node)
    return fwk.Refusal(
        id="affinity.enforced",
        text=f"the configuration's addedAffinity {_wants(unmet, node)}; this is not the pod's rule",
        wanted=f"{demands.words} (addedAffinity)",
        there=_there(unmet, node),
        lasting=True,
        facts=_facts(demands, unmet, node),
        changes=() if label is None else (label,),
    )


def labels_in_words(demands: NodeDemands, node: fwk.NodeInfo) -> fwk.Requirement:
    """What the selector wants, and the labels of the node that it reads."""
    closest = demands.closest(node)
    read = (*demands.selector, *(closest.demands if closest is not None else ()))
    return fwk.Requirement(demands.words, _there(read, node))


def _wants(unmet: list[NodeDemand], node: fwk.NodeInfo) -> str:
    there = " and ".join(dict.fromkeys(demand.there(node) for demand in unmet))
    return f"wants {' and '.join(demand.words for demand in unmet)}; the node has {there}"


def _there(demands: Iterable[NodeDemand], node: fwk.NodeInfo) -> str:
    return ", ".join(dict.fromkeys(demand.there(node) for demand in demands))


def _facts(demands: NodeDemands, unmet: list[NodeDemand], node: fwk.NodeInfo) -> dict[str, Any]:
    requirements = []
    for demand in unmet:
        key, operator, values = demand.requirement
        there = node.name if demand.is_field else node.labels.get(key)
        requirements.append({"key": key, "operator": operator, "values": list(values), "there": there})
    facts: dict[str, Any] = {"selector": demands.words, "requirements": requirements}
    if demands.alternatives is not None and len(demands.alternatives) > 1:
        facts["alternatives"] = len(demands.alternatives)
    return facts


def _changes(demands: NodeDemands, unmet: list[NodeDemand], node: fwk.NodeInfo) -> tuple[fwk.Change, ...]:
    if not unmet or any(demand.is_field for demand in unmet):
        return ()
    closest = demands.closest(node)
    changes = [_relax(closest, [_other(demand, node) or _drop(demand) for demand in unmet])]
    if any(_other(demand, node) is not None for demand in unmet):
        changes.append(_relax(closest, [_drop(demand) for demand in unmet]))
    label = _label_node(unmet, node)
    changes += [] if label is None else [label]
    return tuple(sorted(changes, key=lambda change: change.effort))


def _relax(closest: NodeAlternative | None, parts: list[_Part]) -> fwk.Change:
    """Several changes of requirements as one; a term that would lose all of its requirements is dropped with the other
    terms, since a term without requirements matches no node."""
    dropped = {part.drops.path for part in parts if part.drops is not None}
    everything = closest is not None and all(demand.path in dropped for demand in closest.demands)
    operations = [
        operation
        for part in parts
        for operation in part.operations
        if part.drops is None or not (everything and operation.path.startswith(REQUIRED_PATH))
    ]
    # Removals from lists go last, from the end, so that the positions of the others stay valid.
    operations.sort(key=lambda each: _position(each) if each.op == "remove" else -(10**6))
    if everything:
        operations.append(fwk.PatchOperation("remove", REQUIRED_PATH))
    return fwk.Change(
        kind="selector",
        on="pod",
        text=" and ".join(part.text for part in parts),
        effort=sum(part.effort for part in parts),
        patch=tuple(operations),
    )


def _position(operation: fwk.PatchOperation) -> int:
    last = operation.path.rpartition("/")[2]
    return -int(last) if last.isdigit() and not operation.path.startswith(SELECTOR_PATH) else 0


def _other(demand: NodeDemand, node: fwk.NodeInfo) -> _Part | None:
    """Another key or value that the node has; None if the node has neither."""
    key, operator, values = demand.requirement
    value = node.labels.get(key)
    if operator == IN and value is None:
        near = [other for other, text in node.labels.items() if text in values and is_near(key, other)]
        return _other_key(demand, min(near), node.labels[min(near)]) if near else None
    if operator == IN and value is not None:
        effort = _EFFORT_NEAR if any(is_near(value, each) for each in values) else _EFFORT
        if demand.path.startswith(SELECTOR_PATH):
            return _Part(f"ask for {key}={value}", effort, (fwk.PatchOperation("replace", demand.path, value),))
        return _Part(f"allow {key} {value}", effort, (fwk.PatchOperation("add", f"{demand.path}/values/-", value),))
    number = parse_int64(value) if value is not None and operator in (GT, LT) else None
    if number is None:
        return None
    bound = number - 1 if operator == GT else number + 1
    patch = fwk.PatchOperation("replace", f"{demand.path}/values/0", str(bound))
    return _Part(f"ask for {key}{'>' if operator == GT else '<'}{bound}", _EFFORT, (patch,))


def _other_key(demand: NodeDemand, key: str, value: str) -> _Part:
    operations: tuple[fwk.PatchOperation, ...]
    if demand.path.startswith(SELECTOR_PATH):
        operations = (
            fwk.PatchOperation("remove", demand.path),
            fwk.PatchOperation("add", f"{SELECTOR_PATH}/{escaped(key)}", value),
        )
    else:
        operations = (fwk.PatchOperation("replace", f"{demand.path}/key", key),)
    return _Part(f"ask for {key}={value}", _EFFORT_NEAR, operations)


def _drop(demand: NodeDemand) -> _Part:
    return _Part(f"drop {demand.words}", _EFFORT_DROP, (fwk.PatchOperation("remove", demand.path),), drops=demand)


def _label_node(unmet: list[NodeDemand], node: fwk.NodeInfo) -> fwk.Change | None:
    """Labels with which the node meets the demands; None where no label does, or the platform sets it."""
    texts, operations = [], []
    for demand in unmet:
        key, operator, values = demand.requirement
        if demand.is_field or key in _LABELS_OF_THE_PLATFORM:
            return None
        path = f"/metadata/labels/{escaped(key)}"
        if operator in (NOT_IN, DOES_NOT_EXIST):
            texts.append(f"remove the label {key} from {node.name}")
            operations.append(fwk.PatchOperation("remove", path))
            continue
        value = values[0] if values else ""
        if operator in (GT, LT):
            value = str(int(value) + (1 if operator == GT else -1))
        texts.append(f"label {node.name} {key}={value}")
        operations.append(fwk.PatchOperation("add", path, value))
    return fwk.Change(
        kind="label",
        on="node",
        node=node.name,
        text=" and ".join(texts),
        effort=_EFFORT * len(texts),
        patch=tuple(operations),
    )
