"""The ElasticQuotas of a cluster, and what their namespaces use.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling/elasticquota.go
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import numpy as np

from stowplan import api, logs
from stowplan.api.quantity import QuantityError
from stowplan.cache import Cluster
from stowplan.cache.kept import KeptBySlot
from stowplan.framework import NodeInfo, PodTemplate, Slots
from stowplan.optional_plugins.base.requests import Amounts, add, amounts, effective_request

_ALWAYS_COUNTED = ("cpu", "memory", "ephemeral-storage")

log = logs.get(__name__)


class Quota(NamedTuple):
    """The quota of a namespace."""

    name: str
    min: Mapping[str, int]
    """Resources that are missing have none guaranteed."""
    max: Mapping[str, float]
    """Resources that are missing are not limited."""


class ElasticQuotas:
    """Quotas by namespace. Of several in a namespace, the oldest applies, then the first by name."""

    def __init__(self, cluster: Cluster, *, unlisted_max_is_zero: bool) -> None:
        self._store = cluster.stores.of(api.ElasticQuota)
        self._unlisted_max_is_zero = unlisted_max_is_zero
        self._version = -1
        self._by_namespace: dict[str, Quota] = {}
        self.total_min: Amounts = {}
        self._reported: set[str] = set()

    def by_namespace(self) -> Mapping[str, Quota]:
        if self._version != self._store.version:
            self._version = self._store.version
            self._refresh()
        return self._by_namespace

    def _refresh(self) -> None:
        self._by_namespace, self.total_min = {}, {}
        for item in sorted(self._store, key=lambda item: (item.metadata.creation_timestamp, item.metadata.name)):
            namespace = item.metadata.namespace
            if namespace in self._by_namespace:
                self._report(item, f"ElasticQuota {self._by_namespace[namespace].name} applies")
                continue
            try:
                self._by_namespace[namespace] = self._quota(item)
            except QuantityError as problem:
                self._report(item, f"{problem}")
        for quota in self._by_namespace.values():
            add(self.total_min, quota.min)

    def _report(self, item: api.ElasticQuota, problem: str) -> None:
        """Log a quota that is not applied, once."""
        key = f"{item.metadata.namespace}/{item.metadata.name} {problem}"
        if key not in self._reported:
            self._reported.add(key)
            log.warning(
                "ElasticQuota is ignored",
                elasticQuota=logs.ObjectRef(item.metadata.namespace, item.metadata.name),
                err=problem,
            )

    def _quota(self, item: api.ElasticQuota) -> Quota:
        minimum = amounts(item.spec.min or {})
        maximum: dict[str, float] = {}
        if item.spec.max is not None:
            maximum = dict(amounts(item.spec.max))
            if self._unlisted_max_is_zero:
                maximum = {**dict.fromkeys(_ALWAYS_COUNTED, 0), **maximum}
        return Quota(item.metadata.name, minimum, maximum)


def exceeds(wanted: Mapping[str, int], limits: Mapping[str, float], unlisted: float) -> str:
    """The first resource whose amount is above its limit; empty if none is. `unlisted` limits the others."""
    for name, amount in wanted.items():
        if amount > limits.get(name, unlisted):
            return name
    return ""


UNLIMITED = inf


class NamespaceUsage(KeptBySlot[None]):
    """Requests of the pods on nodes, assumed pods included, by namespace."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.nodes)
        self._by_slot: list[dict[str, Amounts]] = []
        self._totals: dict[str, Amounts] = {}
        self._counted: Mapping[str, Quota] = {}
        self._sum: Amounts = {}
        """Of the namespaces in `_counted`."""

    def totals(self) -> Mapping[str, Mapping[str, int]]:
        """By namespace."""
        self.refresh(None)
        return self._totals

    def sum_over(self, namespaces: Mapping[str, Quota]) -> Mapping[str, int]:
        """Of all these namespaces; kept for the same mapping."""
        self.refresh(None)
        if namespaces is not self._counted:
            self._counted, self._sum = namespaces, {}
            for namespace in namespaces:
                add(self._sum, self._totals.get(namespace, {}))
        return self._sum

    def rebuild(self, context: None = None) -> None:
        self._by_slot = [{} for _ in range(self.nodes.capacity)]
        self._totals, self._sum = {}, {}
        self.repair_many(np.arange(self.nodes.high))

    def repair_many(self, slots: Slots, context: None = None) -> None:
        for slot in slots.tolist():
            self.repair_one(slot)

    def repair_one(self, slot: int, context: None = None) -> None:
        info = self.nodes.infos[slot]
        before, after = self._by_slot[slot], {} if info is None else _used_on(info)
        self._by_slot[slot] = after
        for sign, part in ((-1, before), (1, after)):
            for namespace, used in part.items():
                add(self._totals.setdefault(namespace, {}), used, sign)
                if namespace in self._counted:
                    add(self._sum, used, sign)


def _used_on(info: NodeInfo) -> dict[str, Amounts]:
    numbers: dict[PodTemplate, int] = {}
    for pod in info.pods.values():
        numbers[pod.template] = numbers.get(pod.template, 0) + 1
    used: dict[str, Amounts] = {}
    for template, number in numbers.items():
        total = used.setdefault(template.namespace, {})
        for name, amount in effective_request(template).items():
            total[name] = total.get(name, 0) + number * amount
    return used
