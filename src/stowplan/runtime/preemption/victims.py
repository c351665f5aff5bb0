"""The importance of pods, and their protection by PodDisruptionBudgets.

Upstream: pkg/scheduler/util/utils.go (MoreImportantPod), default_preemption.go (filterPodsWithPDBViolation)
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from stowplan import api
from stowplan.api.selectors import Selector, compile_label_selector
from stowplan.cache import Cluster
from stowplan.cache.lru_map import LruMap
from stowplan.framework import Pod
from stowplan.runtime.preemption.go_sort import MAX_INSERTION_SORT_LENGTH, sorted_positions

if TYPE_CHECKING:
    from stowplan.runtime.preemption.victim_table import VictimTable

NEVER_STARTED_NANOSECONDS = 1 << 62
"""Later than every time: a pod that has not started counts as started now."""

_MAX_PRIORITIES = 4
"""Priorities of preemptors for which victim tables are kept."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(1 << 14)
def started(start_time: str) -> int:
    """The start time of a pod, in microseconds since 1970."""
    try:
        return (datetime.fromisoformat(start_time) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, TypeError):
        return NEVER_STARTED_NANOSECONDS


def by_importance(pods: Iterable[Pod], below: int = 1 << 31) -> list[Pod]:
    """The pods below a priority as kube-scheduler sorts them: higher priority first, then longer running.

    Of two pods that have not started, it takes the one that it compares first for the older one, because it reads the
    clock for each. So up to a dozen pods, which Go sorts by insertion, such pods end up in reverse.
    """
    ranks = []
    for turn, pod in enumerate(pods):
        priority = pod.template.priority
        if priority < below:
            start = started(pod.start_time)
            ranks.append((-priority, start, turn if start != NEVER_STARTED_NANOSECONDS else -turn, pod))
    if len(ranks) > MAX_INSERTION_SORT_LENGTH:
        levels = sorted({rank[:2] for rank in ranks})
        if len(levels) < len(ranks):
            keys = {level: 2 * i + (level[1] == NEVER_STARTED_NANOSECONDS) for i, level in enumerate(levels)}
            return [ranks[i][3] for i in sorted_positions([keys[rank[:2]] for rank in ranks])]
    ranks.sort()
    return [rank[3] for rank in ranks]


class Budgets:
    """The cluster's PodDisruptionBudgets, compiled."""

    def __init__(self, cluster: Cluster) -> None:
        self._store = cluster.stores.of(api.PodDisruptionBudget)
        self._version = -1
        self._by_namespace: dict[str, list[tuple[api.PodDisruptionBudget, Selector]]] = {}
        self.victim_tables: LruMap[int, VictimTable] = LruMap(_MAX_PRIORITIES)
        """Pods split by these budgets, by the priority that they are below."""

    @property
    def version(self) -> int:
        """Grows with every change of a budget."""
        return self._store.version

    def protected_first(self, pods: list[Pod]) -> tuple[list[Pod], int]:
        """(pods whose eviction would violate a budget, then the others, each in the order given; how many violate)."""
        self._refresh()
        if not self._by_namespace:
            return pods, 0
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
        return violating + others, len(violating)

    def matching(self, pod: Pod) -> list[api.PodDisruptionBudget]:
        """The budgets that protect the pod."""
        self._refresh()
        return list(self._matching(pod))

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
