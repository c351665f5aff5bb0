"""Structural conflicts: why no node meets the pod's node selector, counted requirement by requirement.

Either one requirement is met by no node, and other values or near spellings are named; or two requirements exclude each
other, and the pair with the fewest nodes is named; or only all of them together do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from stowplan.api.near_names import near_names
from stowplan.api.selector_words import listed
from stowplan.api.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, parse_int64
from stowplan.cache.node_matching import match_requirements
from stowplan.framework import Mask, Slots
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.steps import count
from stowplan.plugins.node_affinity import NodeDemand, demands_of

MAX_OTHER_VALUES = 3
MAX_NEAR_NAMES = 3
MAX_COMPARED_VALUES = 200
"""With more distinct values of a label, the most frequent ones are not listed, and only likely ones are compared."""


class Counted(NamedTuple):
    """A requirement, and the nodes that meet it."""

    demand: NodeDemand
    nodes: Mask

    @property
    def words(self) -> str:
        return self.demand.words


def conflict(matrix: FilterMatrix, demands: Iterable[NodeDemand]) -> str:
    """Why no node meets all requirements: `no node has that label. 212 nodes have disktype=ssd.`"""
    counted = [Counted(demand, meeting(matrix, demand)) for demand in demands]
    for each in counted:
        if not each.nodes.any():
            return f"{_asks(each.demand)}; {_nothing_meets(matrix, each.demand)}"
    pair = _smallest_pair(counted)
    if pair is not None:
        one, other = sorted(pair, key=lambda each: -count(each.nodes))
        return f"No node has both {one.words} ({_nodes(one.nodes)}) and {other.words} ({count(other.nodes):,})."
    first, *others = counted
    parts = [f"{first.words} ({_nodes(first.nodes)})", *(f"{each.words} ({count(each.nodes):,})" for each in others)]
    return f"No node has all of {listed(parts)}."


def meeting(matrix: FilterMatrix, demand: NodeDemand) -> Mask:
    """The nodes that meet a requirement."""
    table, high = matrix.table, len(matrix.alive)
    if not demand.is_field:
        return matrix.alive & match_requirements(table, (demand.requirement,), slice(0, high))
    mask = np.zeros(high, dtype=np.bool_)
    for slot, info in enumerate(table.infos[:high]):
        mask[slot] = info is not None and demand.met_by(info)
    return mask


def values_of(matrix: FilterMatrix, key: str) -> Counter[str]:
    """The values of a label, with the number of nodes that have each."""
    return Counter(value for value in matrix.label_values(key) if value is not None)


def near_keys(matrix: FilterMatrix, key: str) -> list[str]:
    """Label keys of nodes that look like the key."""
    return near_names(key, matrix.table.labels.keys())[:MAX_NEAR_NAMES]


def alike_by_labels(matrix: FilterMatrix, nodes: Mask) -> Slots:
    """One node for each combination of the labels that the pod's selector reads, and of near spellings of their keys;
    the most frequent combinations first."""
    table, slots = matrix.table, np.flatnonzero(nodes)
    demands = demands_of(matrix.pod.spec)
    own = {demand.requirement.key for demand in demands.all if not demand.is_field}
    columns = [table.label(key).array[slots] for key in sorted(own) if key in table.labels]
    near = {other for key in own for other in near_keys(matrix, key)} - own
    for other in sorted(near):
        numbers: dict[str | None, int] = {}
        labels = matrix.label_values(other)
        numbered = [numbers.setdefault(labels[slot], len(numbers)) for slot in slots.tolist()]
        columns.append(np.array(numbered, dtype=np.intp))
    if not columns:
        return slots[:1]
    _, firsts, sizes = np.unique(np.stack(columns), axis=1, return_index=True, return_counts=True)
    found: Slots = slots[firsts[np.argsort(-sizes, kind="stable")]]
    return found


def _smallest_pair(counted: list[Counted]) -> tuple[Counted, Counted] | None:
    """Of the pairs that exclude each other, the one with the fewest nodes."""
    pairs = [pair for pair in combinations(counted, 2) if not (pair[0].nodes & pair[1].nodes).any()]
    return min(pairs, key=lambda pair: count(pair[0].nodes) + count(pair[1].nodes), default=None)


def _asks(demand: NodeDemand) -> str:
    key, operator, values = demand.requirement
    if demand.is_field:
        return f"Asks for node {' or '.join(values)}" if operator == IN else f"Asks for a node other than {values[0]}"
    if operator == EXISTS:
        return f"Asks for nodes with the label {key}"
    if operator == DOES_NOT_EXIST:
        return f"Asks for nodes without the label {key}"
    return f"Asks for nodes labelled {demand.words}"


def _nothing_meets(matrix: FilterMatrix, demand: NodeDemand) -> str:
    key, operator, values = demand.requirement
    everywhere = count(matrix.alive)
    if demand.is_field:
        return "there is no such node." if operator == IN else "there is no other."
    if operator in (NOT_IN, DOES_NOT_EXIST):
        has = f"has the label {key}" if operator == DOES_NOT_EXIST else f"has {key}={listed(values, 'or')}"
        return f"the only node {has}." if everywhere == 1 else f"each of the {everywhere:,} nodes {has}."
    column = matrix.table.label(key)  # The filter has read it.
    present = Counter({value: nodes for value, nodes in zip(column.texts, column.sizes, strict=True) if nodes})
    if operator in (GT, LT):
        return _out_of_bounds(operator, key, present)
    none = "no node has that label" if present else f"no node has the label {key}"
    others = list(_other_labels(matrix, key, values, present))
    return f"{none}. {_counts(others)}." if others else f"{none}."


def _out_of_bounds(operator: str, key: str, present: Counter[str]) -> str:
    if not present:
        return f"no node has the label {key}."
    numbers = [number for value in present if (number := parse_int64(value)) is not None]
    if not numbers:
        value, nodes = present.most_common(1)[0]
        return f"no node has a whole number there. {_counts([(f'{key}={value}', nodes)])}."
    most, word = (max(numbers), "highest") if operator == GT else (min(numbers), "lowest")
    if present.total() == 1:
        return f"the only node with the label has {most}."
    return f"the {word} value of {present.total():,} nodes is {most}."


def _other_labels(
    matrix: FilterMatrix, key: str, values: tuple[str, ...], present: Counter[str]
) -> Iterator[tuple[str, int]]:
    """The most frequent values of the key and near spellings of the wanted values; near keys with a wanted value, or
    with any value if the requirement names none."""
    frequent = [value for value, _ in present.most_common(MAX_OTHER_VALUES)]
    if len(present) > MAX_COMPARED_VALUES:  # Names of nodes, for example.
        frequent = []
    near = [value for wanted in values for value in near_names(wanted, _alike(wanted, present))]
    for value in dict.fromkeys([*frequent, *sorted(near)[:MAX_NEAR_NAMES]]):
        yield f"{key}={value}", present[value]
    for other in near_keys(matrix, key):
        found = values_of(matrix, other)
        for value in values:
            if found[value]:
                yield f"{other}={value}", found[value]
        if not values:
            yield f"the label {other}", found.total()


def _alike(wanted: str, values: Collection[str]) -> Iterable[str]:
    """The values to compare with the wanted one; of many, those that share its first or its second half."""
    if len(values) <= MAX_COMPARED_VALUES:
        return values
    half = len(wanted) // 2
    return [value for value in values if value.startswith(wanted[:half]) or value.endswith(wanted[half:])]


def _counts(labels: list[tuple[str, int]]) -> str:
    """`212 nodes have disktype=ssd, 4 have disk-type=nvme`."""
    texts = [f"{nodes:,} {'has' if nodes == 1 else 'have'} {label}" for label, nodes in labels]
    (first, nodes), *_ = labels
    texts[0] = f"{nodes:,} node{'' if nodes == 1 else 's'} {'has' if nodes == 1 else 'have'} {first}"
    return ", ".join(texts)


def _nodes(mask: Mask) -> str:
    return f"{count(mask):,} node{'' if count(mask) == 1 else 's'}"
