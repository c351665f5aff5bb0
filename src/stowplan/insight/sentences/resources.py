"""Sentences about amounts: NodeResourcesFit."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from stowplan.api import amounts
from stowplan.api.near_names import is_near
from stowplan.api.selector_words import listed
from stowplan.cache.columns import Floats
from stowplan.framework import Mask
from stowplan.insight.sentences.dominating import Dominating, sentence_for
from stowplan.insight.steps import count
from stowplan.runtime.decide.filtering import nominated_rivals

_MAX_OTHER_RESOURCES = 3


@sentence_for("resources.insufficient", "resources.too-small")
def short(dominating: Dominating) -> str:
    """About a resource of which no node has enough; otherwise about two of which no node has enough together."""
    wanted = _wanted(dominating)
    lacking = [name for name in wanted if not _enough(dominating, name).any()]
    own = dominating.refusal.facts["resource"]
    if lacking:
        return _never_enough(dominating, own if own in lacking else lacking[0])
    pairs = combinations(wanted, 2)
    apart = [pair for pair in pairs if not (_enough(dominating, pair[0]) & _enough(dominating, pair[1])).any()]
    if apart:
        return _never_together(dominating, *apart[0])
    what = listed(amounts.in_words(name, wanted[name]) for name in wanted)
    where = "no node has" if dominating.nodes == dominating.all_nodes else f"none of {dominating.nodes:,} nodes has"
    return f"Needs {what} on one node, and {where} all of it free: {dominating.best.name} {dominating.refusal.text}."


@sentence_for("pods.too-many")
def too_many_pods(dominating: Dominating) -> str:
    allowed = dominating.refusal.facts["allocatable"]
    left = dominating.nodes < dominating.all_nodes
    if dominating.nodes == 1:
        return f"The only node{' that is left' if left else ''} holds as many pods as allowed ({allowed:,})."
    number = "Both" if dominating.nodes == 2 else f"All {dominating.nodes:,}"
    nodes = f"{number} nodes{' that are left' if left else ''}"
    full = _pods_full(dominating)
    if count(full) < dominating.nodes:
        return f"{nodes} are full: {count(full):,} hold as many pods as allowed, the others lack resources."
    return f"{nodes} hold as many pods as allowed ({allowed:,})."


def fragmentation(dominating: Dominating) -> tuple[str, ...]:
    """What is free in all, where the sum over the nodes would do: `16 nvidia.com/gpu are free on 9 nodes, at most 3 on
    one.`"""
    resource = dominating.refusal.facts.get("resource", "")
    if not dominating.refusal.id.startswith("resources.") or resource not in _wanted(dominating):
        return ()
    free = _free(dominating, resource)[dominating.left]
    free = free[free > 0]
    wanted = _wanted(dominating)[resource]
    largest = dominating.matrix.table.resource(resource)[0].array[: len(dominating.left)][dominating.left].max()
    if len(free) < 2 or free.sum() < wanted or not free.max() < wanted <= largest:
        return ()
    unit = amounts.unit(resource) or " memory"
    total, most = amounts.bare(resource, int(free.sum())), amounts.bare(resource, int(free.max()))
    return (f"{total}{unit} {'is' if total == '1' else 'are'} free on {len(free):,} nodes, at most {most} on one.",)


def totals(dominating: Dominating) -> dict[str, int]:
    """Further facts about the resource: the free amounts on all remaining nodes."""
    resource = dominating.refusal.facts.get("resource", "")
    if not dominating.refusal.id.startswith("resources.") or resource not in _wanted(dominating):
        return {}
    return {"freeInAll": int(np.maximum(_free(dominating, resource)[dominating.left], 0).sum())}


def _never_enough(dominating: Dominating, resource: str) -> str:
    wanted = _wanted(dominating)[resource]
    allocatable = dominating.matrix.table.resource(resource)[0].array[: len(dominating.left)][dominating.left]
    unit = amounts.unit(resource)
    if not allocatable.any():
        return _not_offered(dominating, resource)
    if allocatable.max() < wanted:
        asked, there = amounts.compared(resource, wanted, int(allocatable.max()))
        largest = "the only node" if dominating.nodes == 1 else f"the largest of {dominating.nodes:,} nodes"
        return f"Asks for {asked}{unit}; {largest} has {there}."
    most = max(int(_free(dominating, resource)[dominating.left].max()), 0)
    asked, free = amounts.compared(resource, wanted, most)
    best = "the only node" if dominating.nodes == 1 else f"the best of {dominating.nodes:,} nodes"
    return f"Needs {asked}{unit} on one node; {best} has {free} free."


def _never_together(dominating: Dominating, one: str, other: str) -> str:
    """Enough of each on some nodes, never of both."""
    wanted = _wanted(dominating)
    both = " and ".join(amounts.in_words(name, wanted[name]) for name in (one, other))
    parts = []
    for enough, lacking in ((other, one), (one, other)):
        mask = _enough(dominating, enough)
        _, most = amounts.compared(lacking, wanted[lacking], max(int(_free(dominating, lacking)[mask].max()), 0))
        having = "memory" if enough == "memory" else "CPU" if enough == "cpu" else enough
        parts.append(f"nodes with that {having} have at most {most}{amounts.unit(lacking)} free ({count(mask):,})")
    return f"Needs {both} on one node; {', '.join(parts)}."


def _not_offered(dominating: Dominating, resource: str) -> str:
    """No node that is left has any of the resource."""
    table = dominating.matrix.table
    left = dominating.nodes < dominating.all_nodes
    where = f"None of the {dominating.nodes:,} nodes that are left" if left and dominating.nodes > 1 else "No node"
    where = "The only node that is left does not offer" if left and dominating.nodes == 1 else f"{where} offers"
    others = []
    for name, column in table.allocatable.items():
        nodes = count(dominating.matrix.alive & (column.array[: len(dominating.left)] > 0))
        if name == resource and nodes:
            others.append(f"{nodes:,} other node{'' if nodes == 1 else 's'} offer{'s' if nodes == 1 else ''} it")
        elif nodes and is_near(resource, name):
            others.append(f"{nodes:,} node{'' if nodes == 1 else 's'} offer{'s' if nodes == 1 else ''} {name}")
    plugin = "; is the device plugin running?" if "/" in resource else "."
    more = f" {listed(sorted(others)[:_MAX_OTHER_RESOURCES])}." if others else ""
    return f"{where} {resource}{plugin}{more}"


def _wanted(dominating: Dominating) -> dict[str, int]:
    requests = dominating.pod.template.requests
    return {name: requests[name] for name in amounts.ordered(requests) if requests[name]}


def _free(dominating: Dominating, resource: str) -> Floats:
    """By slot: the free amount after subtracting the pods nominated to the node."""
    allocatable, requested = dominating.matrix.table.resource(resource)
    high = len(dominating.left)
    free: Floats = allocatable.array[:high] - requested.array[:high]
    for slot in np.flatnonzero(dominating.matrix.rivals & dominating.left).tolist():
        info = dominating.matrix.table.infos[slot]
        rivals = nominated_rivals(dominating.matrix.profile, dominating.pod, info) if info is not None else []
        free[slot] -= sum(other.template.requests.get(resource, 0) for other in rivals)
    return free


def _enough(dominating: Dominating, resource: str) -> Mask:
    """The nodes that are left and have enough of a resource."""
    enough: Mask = dominating.left & (_free(dominating, resource) >= dominating.pod.template.requests[resource])
    return enough


def _pods_full(dominating: Dominating) -> Mask:
    table, high = dominating.matrix.table, len(dominating.left)
    full: Mask = dominating.left & (table.pod_count.array[:high] >= table.allowed_pods.array[:high])
    return full
