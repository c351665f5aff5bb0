"""Sentences about devices: DynamicResources."""

from __future__ import annotations

import numpy as np

from stowplan.framework import NodeInfo, Refusal
from stowplan.insight.sentences.dominating import Dominating, sentence_for
from stowplan.plugins.dynamic_resources import DynamicResources

_MAX_EXAMINED_NODES = 128
"""With more nodes than this, the best of all and the sum of all are not counted."""


@sentence_for("devices.taken", "devices.none")
def too_few(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    if "resource" in facts:
        return unsuitable(dominating)
    refusals = _of_all(dominating)
    if not refusals and facts["requests"] == 1 and "/" not in facts["request"]:
        needs = f"Needs {_devices(facts['wanted'])} of class {facts['class']} on one node"
        has = f"{dominating.best.name} has {facts['free']:,} of {facts['tolerated']:,} free"
        return f"{needs}; none of {dominating.nodes:,} nodes can serve that, {has}."
    if not refusals:
        return unsuitable(dominating)
    needs = f"Needs {_devices(facts['wanted'])} of class {facts['class']} on one node"
    offered = max(refusal.facts["ofClass"] for refusal in refusals)
    if all(refusal.id == "devices.none" for refusal in refusals):
        if dominating.nodes == 1:
            return f"{needs}; the only node offers {offered or 'none'}."
        if not offered:
            return f"{needs}; none of {dominating.nodes:,} nodes offers any."
        return f"{needs}; the best of {dominating.nodes:,} nodes offers {offered:,}."
    free = max(refusal.facts["free"] for refusal in refusals)
    who = "the only node has" if dominating.nodes == 1 else f"the best of {dominating.nodes:,} nodes has"
    in_all = _free_in_all(dominating)
    fragments = f", {in_all:,} are free in all" if in_all > free else ""
    return f"{needs}; {who} {free:,} free{fragments}."


@sentence_for("devices.no-match", "devices.tainted", "devices.together")
def unsuitable(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    what = f"{_devices(facts['wanted'])} of class {facts['class']}" if _of_all(dominating) else "all its devices"
    if dominating.nodes == 1:
        return f"Needs {what} on one node; on the only node, {dominating.best.name}: {dominating.refusal.text}."
    nodes = f"none of {dominating.nodes:,} nodes will do"
    return f"Needs {what} on one node; {nodes}. On {dominating.best.name}: {dominating.refusal.text}."


@sentence_for("devices.elsewhere")
def elsewhere(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    has = f"Claim {facts['claim']} has devices already, which can be reached from {facts['reachable']} only"
    if dominating.nodes == dominating.all_nodes:
        return f"{has}, and there is no such node."
    if dominating.nodes == 1:
        return f"{has}, and {dominating.best.name}, the only node that is left, is not there."
    return f"{has}, and none of the {dominating.nodes:,} nodes that are left is there."


@sentence_for("devices.failed", "devices.error", "devices.timeout", "devices.stale")
def failed(dominating: Dominating) -> str:
    text = dominating.refusal.text
    return f"{text[:1].upper()}{text[1:]}."


def _infos(dominating: Dominating) -> list[NodeInfo]:
    slots = np.flatnonzero(dominating.left).tolist()
    if len(slots) > _MAX_EXAMINED_NODES:
        return []
    return [info for slot in slots if (info := dominating.matrix.table.infos[slot]) is not None]


def _free_in_all(dominating: Dominating) -> int:
    """The free devices for the request on all nodes that are left; devices that several nodes reach count once."""
    plugin = dominating.matrix.plugin("DynamicResources")
    if not isinstance(plugin, DynamicResources):
        return 0
    facts, state = dominating.refusal.facts, dominating.matrix.state
    infos = _infos(dominating)
    return len(set().union(*(plugin.free_devices(state, info, facts["claim"], facts["request"]) for info in infos)))


def _of_all(dominating: Dominating) -> list[Refusal]:
    """The refusals of all nodes that are left, if each has one about the same request; else none."""
    facts = dominating.refusal.facts
    found = []
    for info in _infos(dominating) if "request" in facts else ():
        for refusal in dominating.matrix.explain("DynamicResources", info):
            same = refusal.facts.get("claim") == facts["claim"] and refusal.facts.get("request") == facts["request"]
            if same and refusal.facts["wanted"] == facts["wanted"]:
                found.append(refusal)
                break
    return found if len(found) == dominating.nodes else []


def _devices(number: int) -> str:
    return "1 device" if number == 1 else f"{number:,} devices"
