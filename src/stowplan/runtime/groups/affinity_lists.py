"""kube-scheduler v1.36's lists of nodes that have pods with affinity, which a pod group cycle does not update.

The terms of a member that the cycle put on a node count for later members only if the node had a pod with such terms
before the cycle: required anti-affinity can be broken. Later releases update the lists. Used to reproduce verdicts of
v1.36; the scheduler itself counts all terms.

Upstream: pkg/scheduler/backend/cache/snapshot.go (havePodsWithAffinityNodeInfoList)
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.cache import Cluster, SlotCounts, TermKind
from stowplan.cache.selection import carried_terms, pod_terms
from stowplan.framework import Pod, PodTemplate


class AffinityLists:
    """Hides the terms of assumed members on nodes that are missing in the lists."""

    def __init__(self, cluster: Cluster, members: Iterable[Pod]) -> None:
        self._cluster = cluster
        self._with_terms: set[str] = set()
        self._with_anti_affinity: set[str] = set()
        if any(carried_terms(pod.template) for pod in members):
            for info in cluster.nodes:
                templates = [pod.template for pod in info.pods.values()]
                if any(map(_has_affinity, templates)):
                    self._with_terms.add(info.name)
                if any(kind.repels for template in templates for kind in carried_terms(template)):
                    self._with_anti_affinity.add(info.name)
        self._hidden: dict[str, tuple[int, list[tuple[TermKind, SlotCounts]]]] = {}

    def hide(self, pod: Pod) -> None:
        """A member was assumed on its node."""
        info = self._cluster.nodes.get(pod.node_name)
        hidden: list[tuple[TermKind, SlotCounts]] = []
        if info is None:
            return
        for kind in carried_terms(pod.template):
            listed = self._with_anti_affinity if kind.repels else self._with_terms
            if info.name not in listed:
                hidden.append((kind, self._cluster.selection.term_counts(kind)))
        for _, counts in hidden:
            counts.add(info.slot, -1)
        self._hidden[pod.uid] = (info.slot, hidden)

    def show(self, pod: Pod) -> None:
        """The member is about to be forgotten."""
        slot, hidden = self._hidden.pop(pod.uid, (0, []))
        for _, counts in hidden:
            counts.add(slot, 1)

    def before(self, pod: Pod) -> None:
        """A member is about to be decided. For one with preferred terms all pods are scored, without the lists."""
        self._show_scored(pod, 1)

    def after(self, pod: Pod) -> None:
        """The member was decided."""
        self._show_scored(pod, -1)

    def _show_scored(self, pod: Pod, sign: int) -> None:
        terms = pod_terms(pod.template)
        if not (terms.preferred or terms.preferred_anti):
            return
        for slot, hidden in self._hidden.values():
            for kind, counts in hidden:
                if not kind.repels:
                    counts.add(slot, sign)


def _has_affinity(template: PodTemplate) -> bool:
    affinity = template.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
