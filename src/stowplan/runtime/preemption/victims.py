"""Whom to evict first, and whom a PodDisruptionBudget protects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowplan import api
from stowplan.api.selectors import Selector, compile_label_selector
from stowplan.cache import Cluster
from stowplan.framework import Pod

NOT_STARTED = "~"
"""Sorts after every timestamp: a pod that has not started counts as started now."""


def importance(pod: Pod) -> tuple[int, str]:
    """Sort key, most important first: higher priority, then longer running."""
    return (-pod.priority, pod.start_time or NOT_STARTED)


class Budgets:
    """The cluster's disruption budgets, compiled; made anew when one changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._store = cluster.stores.of(api.PodDisruptionBudget)
        self._version = -1
        self._by_namespace: dict[str, list[tuple[api.PodDisruptionBudget, Selector]]] = {}

    def __len__(self) -> int:
        return len(self._store)

    def split(self, pods: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
        """(pods whose eviction would violate a budget, the others), each in the order given."""
        self._refresh()
        allowed: dict[int, int] = {}
        violating: list[Pod] = []
        others: list[Pod] = []
        for pod in pods:
            violates = False
            for budget in self._matching(pod):
                left = allowed.get(id(budget), budget.status.disruptions_allowed) - 1
                allowed[id(budget)] = left
                violates = violates or left < 0
            (violating if violates else others).append(pod)
        return violating, others

    def _matching(self, pod: Pod) -> Iterable[api.PodDisruptionBudget]:
        if not pod.labels:
            return
        for budget, selector in self._by_namespace.get(pod.namespace, ()):
            # An empty selector protects nothing here, unlike in the eviction API.
            if not selector.empty and selector.matches(pod.labels) and pod.name not in budget.status.disrupted_pods:
                yield budget

    def _refresh(self) -> None:
        if self._version == self._store.version:
            return
        self._version = self._store.version
        self._by_namespace = {}
        for budget in self._store:
            compiled = (budget, compile_label_selector(budget.spec.selector))
            self._by_namespace.setdefault(budget.metadata.namespace, []).append(compiled)
