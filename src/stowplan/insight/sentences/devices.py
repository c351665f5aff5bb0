"""Sentences about devices: DynamicResources."""

from __future__ import annotations

import numpy as np

from stowplan.framework import NodeInfo, Refusal
from stowplan.insight.sentences.dominating import Dominating, sentence_for
from stowplan.plugins.dynamic_resources import DynamicResources

_MAX_EXAMINED = 256
"""With more nodes than this, the best of all and the sum of all are not counted."""


@sentence_for("devices.taken")
def taken(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    needs = f"Needs {_devices(facts['wanted'])} of class {facts['class']} on one node"
    free = _free_by_node(dominating)
    best = max((len(devices) for devices in free), default=facts["free"])
    who = "the only node has" if dominating.nodes == 1 else f"the best of {dominating.nodes:,} nodes has"
    in_all = len(set().union(*free)) if len(free) > 1 else 0
    fragments = f", {in_all:,} are free in all" if in_all > best else ""
    return f"{needs}; {who} {best:,} free{fragments}."


@sentence_for("devices.none")
def none(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    if "resource" in facts:
        return f"Needs {facts['resource']}; {dominating.best.name}: {dominating.refusal.text}."
    refusals = _refusals(dominating)
    if any(refusal.id == "devices.taken" for refusal in refusals):
        return taken(dominating)
    if any(refusal.id != "devices.none" for refusal in refusals):
        return unsuitable(dominating)
    needs = f"Needs {_devices(facts['wanted'])} of class {facts['class']} on one node"
    most = max((refusal.facts["ofClass"] for refusal in refusals), default=facts["ofClass"])
    if dominating.nodes == 1:
        return f"{needs}; the only node offers {most or 'none'}."
    if not most:
        return f"{needs}; none of {dominating.nodes:,} nodes offers any."
    return f"{needs}; the best of {dominating.nodes:,} nodes offers {most:,}."


@sentence_for("devices.no-match", "devices.tainted", "devices.together")
def unsuitable(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    what = f"{_devices(facts['wanted'])} of class {facts['class']}" if "class" in facts else "all its devices"
    if dominating.nodes == 1:
        return f"Needs {what} on one node; on the only node, {dominating.best.name}: {dominating.refusal.text}."
    nodes = f"none of {dominating.nodes:,} nodes will do"
    return f"Needs {what} on one node; {nodes}. On {dominating.best.name}: {dominating.refusal.text}."


@sentence_for("devices.elsewhere")
def elsewhere(dominating: Dominating) -> str:
    facts = dominating.refusal.facts
    has = f"Claim {facts['claim']} has devices already, which can be reached from {facts['reachable']} only"
    if dominating.nodes == dominating.all_nodes:
        return f"{has}, and no such node is there."
    if dominating.nodes == 1:
        return f"{has}, and {dominating.best.name}, the only node that is left, is not there."
    return f"{has}, and none of the {dominating.nodes:,} nodes that are left is there."


@sentence_for("devices.failed", "devices.error", "devices.timeout", "devices.stale")
def failed(dominating: Dominating) -> str:
    text = dominating.refusal.text
    return f"{text[:1].upper()}{text[1:]}."


def _infos(dominating: Dominating) -> list[NodeInfo]:
    slots = np.flatnonzero(dominating.left).tolist()
    if len(slots) > _MAX_EXAMINED:
        return []
    return [info for slot in slots if (info := dominating.matrix.table.infos[slot]) is not None]


def _free_by_node(dominating: Dominating) -> list[set[tuple[str, str, str]]]:
    """The free devices of the class on each node that is left."""
    plugin = dominating.matrix.plugin("DynamicResources")
    if not isinstance(plugin, DynamicResources):
        return []
    name = dominating.refusal.facts["class"]
    return [plugin.free_devices(dominating.matrix.state, info, name) for info in _infos(dominating)]


def _refusals(dominating: Dominating) -> list[Refusal]:
    """The refusals of the nodes that are left, about the same class."""
    found = [dominating.matrix.explain("DynamicResources", info) for info in _infos(dominating)]
    name = dominating.refusal.facts["class"]
    return [refusal for refusals in found for refusal in refusals if refusal.facts.get("class") == name]


def _devices(number: int) -> str:
    return "1 device" if number == 1 else f"{number:,} devices"
