"""Untolerated taints in words: the state of a node, near tolerations of the pod, and the smallest changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.near_names import is_near
from stowplan.api.tolerations import REPELLING_EFFECTS, tolerated
from stowplan.plugins.base import UNSCHEDULABLE_TAINT, cordoned

ALL_TOLERATED = "tolerates all taints"
_EFFORT_TOLERATE, _EFFORT_UNTAINT = 2.0, 3.0

_LIFECYCLE_PREFIX = "node.kubernetes.io/"
_LIFECYCLE_TAINTS = {
    "node.kubernetes.io/not-ready": ("is not ready", "Ready"),
    "node.kubernetes.io/unreachable": ("is unreachable", "Ready"),
    "node.kubernetes.io/memory-pressure": ("has memory pressure", "MemoryPressure"),
    "node.kubernetes.io/disk-pressure": ("has disk pressure", "DiskPressure"),
    "node.kubernetes.io/pid-pressure": ("has too many processes", "PIDPressure"),
    "node.kubernetes.io/network-unavailable": ("has no network", "NetworkUnavailable"),
    UNSCHEDULABLE_TAINT: ("is cordoned", ""),
    "node.kubernetes.io/out-of-service": ("is out of service", ""),
    "node.cloudprovider.kubernetes.io/uninitialized": ("is not initialised by its cloud provider yet", ""),
    "node.cloudprovider.kubernetes.io/shutdown": ("is shut down", ""),
}
"""Taints that the control plane adds and removes with the state of a node: words, and the condition they are for."""


def taint_text(taint: api.Taint) -> str:
    """As kubectl writes it: `key=value:effect`."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def explain_taints(pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
    """A refusal for each taint that repels the pod."""
    for number, taint in enumerate(node.taints):
        if taint.effect not in REPELLING_EFFECTS or tolerated(taint, pod.spec.tolerations):
            continue
        if taint.key == UNSCHEDULABLE_TAINT and node.unschedulable:
            yield cordoned(node)
        elif taint.key in _LIFECYCLE_TAINTS or taint.key.startswith(_LIFECYCLE_PREFIX):
            yield _lifecycle(taint, node)
        else:
            yield _untolerated(taint, number, pod, node)


def taints_in_words(node: fwk.NodeInfo) -> fwk.Requirement:
    """All taints of the node."""
    return fwk.Requirement(ALL_TOLERATED, ", ".join(map(taint_text, node.taints)) or "no taints")


def difference(taint: api.Taint, tolerations: tuple[api.Toleration, ...]) -> str:
    """How the pod's nearest toleration differs from the taint; empty if no toleration is near."""
    found = [text for each in tolerations if (text := _difference(taint, each))]
    return min(found, key=len) if found else ""


def _difference(taint: api.Taint, toleration: api.Toleration) -> str:
    if toleration.key and toleration.key != taint.key:
        near = is_near(taint.key, toleration.key)
        return f"its toleration has the key {toleration.key}, the taint has {taint.key}" if near else ""
    if not toleration.key and toleration.operator != "Exists":
        return ""
    if toleration.operator not in ("", "Equal", "Exists"):
        return f"its toleration has the operator {toleration.operator}, which does not tolerate any taint"
    parts = []
    if toleration.operator != "Exists" and toleration.value != taint.value:
        wants, has = toleration.value or "no value", taint.value or "none"
        parts.append(f"its toleration wants {'the value ' if toleration.value else ''}{wants}, the taint has {has}")
    if toleration.effect and toleration.effect != taint.effect:
        parts.append(f"its toleration is for {toleration.effect}, the taint is {taint.effect}")
    return " and ".join(parts)


def _lifecycle(taint: api.Taint, node: fwk.NodeInfo) -> fwk.Refusal:
    text = taint_text(taint)
    state, kind = _LIFECYCLE_TAINTS.get(taint.key, (f"has the taint {text}", ""))
    facts = _facts(taint)
    since = next((each.last_transition_time for each in node.status.conditions if kind and each.type == kind), "")
    if since:
        facts["since"] = since
        state = f"{state} (since {since})"
    return fwk.Refusal(id="taint.lifecycle", text=state, wanted=ALL_TOLERATED, there=text, rule="ready", facts=facts)


def _untolerated(taint: api.Taint, number: int, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Refusal:
    text = taint_text(taint)
    near = difference(taint, pod.spec.tolerations)
    facts = _facts(taint) | ({"near": near} if near else {})
    return fwk.Refusal(
        id="taint.untolerated",
        text=f"has the taint {text}, which the pod does not tolerate" + (f": {near}" if near else ""),
        wanted=ALL_TOLERATED,
        there=text,
        rule="taints tolerated",
        lasting=True,
        facts=facts,
        changes=(_tolerate(taint, text, pod), _untaint(text, number, node)),
    )


def _facts(taint: api.Taint) -> dict[str, Any]:
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def _tolerate(taint: api.Taint, text: str, pod: fwk.Pod) -> fwk.Change:
    value = {"key": taint.key, "effect": taint.effect} | (
        {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    )
    path, item = ("/spec/tolerations/-", value) if pod.spec.tolerations else ("/spec/tolerations", [value])
    return fwk.Change(
        kind="toleration",
        on="pod",
        text=f"tolerate {text}",
        effort=_EFFORT_TOLERATE,
        patch=(fwk.PatchOperation("add", path, item),),
    )


def _untaint(text: str, number: int, node: fwk.NodeInfo) -> fwk.Change:
    return fwk.Change(
        kind="untaint",
        on="node",
        node=node.name,
        text=f"remove the taint {text} from {node.name}",
        effort=_EFFORT_UNTAINT,
        patch=(fwk.PatchOperation("remove", f"/spec/taints/{number}"),),
    )
