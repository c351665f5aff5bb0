"""Which nodes count for a constraint."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakValueDictionary

import numpy as np

from stowplan.api import Toleration
from stowplan.api.tolerations import find_untolerated
from stowplan.cache import ABSENT, NodeTable
from stowplan.cache.node_matching import RequiredNodes, required_nodes
from stowplan.framework import Mask, PodTemplate
from stowplan.plugins.pod_topology_spread.constraints import SpreadConstraint

Rule = tuple[frozenset[str], RequiredNodes | None, tuple[Toleration, ...] | None]


class Eligibility:
    """Nodes that have some labels, that the pod's node affinity accepts, and whose taints the pod tolerates."""

    __slots__ = ("__weakref__", "_mask", "_nodes", "_position", "_rule")

    def __init__(self, nodes: NodeTable, rule: Rule) -> None:
        self._nodes = nodes
        self._rule = rule
        self._position = -1
        self._mask: Mask = np.zeros(0, dtype=np.bool_)

    def mask(self) -> Mask:
        """By slot; the same object until it would differ, for most changes of nodes change nothing here."""
        position = self._nodes.node_log.position
        if self._position != position:
            self._position = position
            mask = self._compute()
            if not np.array_equal(mask, self._mask):
                self._mask = mask
        return self._mask

    def _compute(self) -> Mask:
        nodes = self._nodes
        keys, required, tolerations = self._rule
        mask: Mask = np.ones(nodes.capacity, dtype=np.bool_)
        for key in keys:
            mask &= nodes.label(key).array != ABSENT
        if required is not None:
            mask &= required.match_nodes(nodes, slice(0, nodes.capacity))
        if tolerations is not None:
            tolerated = [find_untolerated(taints, tolerations) is None for taints in nodes.taint_sets]
            mask &= np.array(tolerated)[nodes.taint_set]
        return mask


class Eligibilities:
    """One Eligibility for each distinct rule, as long as somebody uses it."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: WeakValueDictionary[Rule, Eligibility] = WeakValueDictionary()

    def of(self, template: PodTemplate, constraint: SpreadConstraint, keys: Iterable[str]) -> Eligibility | None:
        """Who counts, where the nodes need these keys as well; None: every node that has the constraint's own key."""
        rule: Rule = (
            frozenset(keys) - {constraint.topology_key},
            required_nodes(template) if constraint.honors_affinity else None,
            template.spec.tolerations if constraint.honors_taints else None,
        )
        if rule == (frozenset(), None, None):
            return None
        known = self._known.get(rule)
        if known is None:
            known = self._known[rule] = Eligibility(self._nodes, rule)
        return known
