"""Matching nodes with node selectors: one node by its labels, or many by the label columns.

Upstream: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stowplan.api.node_selectors import (
    NODE_NAME_FIELD,
    CompiledNodeSelector,
    CompiledTerm,
    compile_node_selector,
    field_matches,
)
from stowplan.api.selectors import DOES_NOT_EXIST, IN, NOT_IN, Selector, SelectorRequirement, selector_from_map
from stowplan.cache.nodes import NodeTable
from stowplan.framework import Mask, NodeInfo, PodTemplate, Slots

Index = slice | Slots
"""`Nodes.index`, by which columns are indexed."""


_SATISFIED_BY_ABSENCE = (NOT_IN, DOES_NOT_EXIST)


class RequiredNodes(NamedTuple):
    """The nodes that a pod insists on: by its nodeSelector, and by its required node affinity."""

    labels: Selector | None = None
    affinity: CompiledNodeSelector | None = None

    def matches(self, node: NodeInfo) -> bool:
        if self.labels is not None and not self.labels.matches(node.labels):
            return False
        return self.affinity is None or self.affinity.matches(node.labels, node.name)

    def match_nodes(self, nodes: NodeTable, index: Index) -> Mask:
        """Vector form of `matches`."""
        if self.labels is None:
            return _all(index) if self.affinity is None else match_nodes(nodes, self.affinity, index)
        mask = match_requirements(nodes, self.labels.requirements, index)
        if self.affinity is not None and mask.any():
            mask = mask & match_nodes(nodes, self.affinity, index)
        return mask


def required_nodes(template: PodTemplate) -> RequiredNodes | None:
    """The requirements of a pod of the template on its node; None for none."""
    return template.derive(RequiredNodes, _required_nodes)


def match_nodes(nodes: NodeTable, selector: CompiledNodeSelector, index: Index) -> Mask:
    """Which nodes the selector selects; the vector form of `CompiledNodeSelector.matches`."""
    mask: Mask | None = None
    for term in selector.terms:
        if mask is None:
            mask = match_term(nodes, term, index)
        elif mask.all():
            break
        else:
            mask = mask | match_term(nodes, term, index)
    return _none(index) if mask is None else mask


def match_term(nodes: NodeTable, term: CompiledTerm, index: Index) -> Mask:
    """Which nodes satisfy one term; the vector form of `CompiledTerm.matches`."""
    mask = match_requirements(nodes, term.labels, index)
    for field in term.fields:
        if not mask.any():
            break
        mask = mask & _match_field(nodes, field, index)
    return mask


def match_requirements(nodes: NodeTable, requirements: Iterable[SelectorRequirement], index: Index) -> Mask:
    """Which nodes carry labels that satisfy all requirements; ends at the first one that leaves no node.

    A key that no node has needs no column: the answer is the same for all nodes.
    """
    mask: Mask | None = None
    for requirement in requirements:
        if requirement.key not in nodes.labels:
            if requirement.operator not in _SATISFIED_BY_ABSENCE:
                return _none(index)
        elif mask is None:
            mask = nodes.label(requirement.key).matching(requirement, index)
        elif mask.any():
            mask = mask & nodes.label(requirement.key).matching(requirement, index)
        else:
            break
    return _all(index) if mask is None else mask


def _match_field(nodes: NodeTable, field: SelectorRequirement, index: Index) -> Mask:
    if field.key != NODE_NAME_FIELD:
        return np.full(_length(index), field_matches(field, node_name=""))
    slots = np.arange(index.start or 0, index.stop) if isinstance(index, slice) else index
    named: Mask = slots == nodes.slot_of.get(field.values[0], -1)
    return named if field.operator == IN else ~named


def _all(index: Index) -> Mask:
    return np.ones(_length(index), dtype=np.bool_)


def _none(index: Index) -> Mask:
    return np.zeros(_length(index), dtype=np.bool_)


def _length(index: Index) -> int:
    return int(index.stop) - int(index.start or 0) if isinstance(index, slice) else len(index)


def _required_nodes(template: PodTemplate) -> RequiredNodes | None:
    spec = template.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if not spec.node_selector and required is None:
        return None
    return RequiredNodes(
        selector_from_map(spec.node_selector) if spec.node_selector else None,
        compile_node_selector(required) if required is not None else None,
    )
