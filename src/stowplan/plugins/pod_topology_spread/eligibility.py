"""The nodes that count for a constraint.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go (matchNodeInclusionPolicies)
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakValueDictionary

import numpy as np

from stowplan import framework as fwk
from stowplan.api import Toleration
from stowplan.api.tolerations import find_untolerated
from stowplan.cache import ABSENT, NodeTable
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.node_matching import RequiredNodes, required_nodes
from stowplan.plugins.pod_topology_spread.constraints import Constraints

Rule = tuple[frozenset[str], RequiredNodes | None, tuple[Toleration, ...] | None]


class Eligibility(KeptBySlot[None]):
    """The nodes that have certain labels, match the pod's node affinity, and have no taints that the pod does not
    tolerate."""

    __slots__ = ("__weakref__", "_mask", "_rule")

    def __init__(self, nodes: NodeTable, rule: Rule) -> None:
        super().__init__(nodes, follows_pods=False)
        self._rule = rule
        self._mask: fwk.Mask = np.zeros(0, dtype=np.bool_)

    def mask(self) -> fwk.Mask:
        """By slot. The same object until it differs, because most changes of nodes do not affect it."""
        if self._position != self._log.position:
            self.refresh(None)
        return self._mask

    def rebuild(self, context: None) -> None:
        self._mask = self._eligible(np.arange(self.nodes.capacity))

    def repair_many(self, slots: fwk.Slots, context: None) -> None:
        eligible = self._eligible(slots)
        if not np.array_equal(eligible, self._mask[slots]):
            self._mask = self._mask.copy()
            self._mask[slots] = eligible

    def _eligible(self, slots: fwk.Slots) -> fwk.Mask:
        nodes = self.nodes
        keys, required, tolerations = self._rule
        mask: fwk.Mask = np.ones(len(slots), dtype=np.bool_)
        if not all(key in nodes.labels for key in keys):
            return np.zeros(len(slots), dtype=np.bool_)
        for key in keys:
            mask &= nodes.label(key).array[slots] != ABSENT
        if required is not None:
            mask &= required.match_nodes(nodes, slots)
        if tolerations is not None:
            tolerated = [find_untolerated(taints, tolerations) is None for taints in nodes.taint_sets]
            mask &= np.array(tolerated)[nodes.taint_set[slots]]
        return mask


class Eligibilities:
    """One Eligibility for each distinct rule, as long as it is referenced."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: WeakValueDictionary[Rule, Eligibility] = WeakValueDictionary()

    def of_all(
        self, template: fwk.PodTemplate, constraints: Constraints, keys: Iterable[str]
    ) -> list[Eligibility | None]:
        """For each constraint, the nodes that count and have all keys; None for all nodes that have its own key."""
        wanted = frozenset(keys)
        if len(wanted) == 1:
            wanted = frozenset()  # Each constraint looks at its own key anyway.
        known: dict[tuple[bool, bool], Eligibility | None] = {}
        for constraint in constraints:
            honors = (constraint.honors_affinity, constraint.honors_taints)
            if honors not in known:
                known[honors] = self._of(template, wanted, *honors)
        return [known[constraint.honors_affinity, constraint.honors_taints] for constraint in constraints]

    def _of(
        self, template: fwk.PodTemplate, keys: frozenset[str], honors_affinity: bool, honors_taints: bool
    ) -> Eligibility | None:
        rule: Rule = (
            keys,
            required_nodes(template) if honors_affinity else None,
            template.spec.tolerations if honors_taints else None,
        )
        if rule == (frozenset(), None, None):
            return None
        known = self._known.get(rule)
        if known is None:
            known = self._known[rule] = Eligibility(self._nodes, rule)
        return known
