"""The groups: their members, and what happened to them.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/coscheduling/core/core.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from stowplan import api
from stowplan.cache import Cluster
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.nodes import NodeTable
from stowplan.framework import NodeInfo, Pod, Slots

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"

_MIN_NOTED_PODS = 1024

GroupKey = tuple[str, str]
"""(namespace, name)"""


def group_key(pod: Pod) -> GroupKey | None:
    """The group that the pod names; None without a label."""
    name = pod.labels.get(POD_GROUP_LABEL)
    return (pod.namespace, name) if name else None


class PlacedMembers(KeptBySlot[None]):
    """The number of members of each group that are on nodes, assumed ones included."""

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._by_slot: list[Counter[GroupKey]] = []
        self._totals: Counter[GroupKey] = Counter()

    def of(self, key: GroupKey) -> int:
        self.refresh(None)
        return self._totals[key]

    def rebuild(self, context: None = None) -> None:
        self._by_slot = [Counter() for _ in range(self.nodes.capacity)]
        self._totals = Counter()
        self.repair_many(np.arange(self.nodes.high))

    def repair_many(self, slots: Slots, context: None = None) -> None:
        for slot in slots.tolist():
            self.repair_one(slot)

    def repair_one(self, slot: int, context: None = None) -> None:
        info, before = self.nodes.infos[slot], self._by_slot[slot]
        self._by_slot[slot] = Counter() if info is None else _members_on(info)
        self._totals.update(self._by_slot[slot])
        self._totals.subtract(before)
        for key in before:
            if not self._totals[key]:
                del self._totals[key]


def _members_on(info: NodeInfo) -> Counter[GroupKey]:
    return Counter(key for pod in info.pods.values() if (key := group_key(pod)) is not None)


class GroupRecord:
    """What happened to one group. Times are seconds since 1970."""

    __slots__ = ("backoff_until", "failed_at", "failures", "pending", "permitted_until", "retry_at")

    def __init__(self) -> None:
        self.backoff_until = 0.0
        self.failed_at: float | None = None
        """When members were last rejected; the group's place in the queue."""
        self.failures = 0
        """Rejections since the group was last complete."""
        self.retry_at = 0.0
        """Until when members stay out of the queue."""
        self.permitted_until = 0.0
        """Until when the check of minResources need not be repeated."""
        self.pending: dict[str, Pod] = {}
        """Members that were in the queue, by uid. Some may be gone."""


class CoschedulingGroups:
    """The groups of a cluster, shared by the plugin instances of all profiles."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.stores.of(api.CoschedulingPodGroup)
        self._placed = PlacedMembers(cluster.nodes)
        self._records: dict[GroupKey, GroupRecord] = {}
        self._noted, self._max_noted = 0, _MIN_NOTED_PODS
        """Number of pods noted as pending since the last cleanup, and the number that starts the next one."""
        self._store.listen(self._changed)

    def get(self, key: GroupKey) -> api.CoschedulingPodGroup | None:
        return self._store.get(key[1], key[0])

    def record(self, key: GroupKey) -> GroupRecord:
        found = self._records.get(key)
        if found is None:
            found = self._records[key] = GroupRecord()
        return found

    def queued(self, pod: Pod, key: GroupKey, is_pending: Callable[[Pod], bool]) -> None:
        """The pod is pending. From time to time, pods that are not any more are dropped."""
        pending = self.record(key).pending
        if pod.uid not in pending:
            self._noted += 1
            if self._noted > self._max_noted:
                self._drop_gone(is_pending)
        self.record(key).pending[pod.uid] = pod

    def pending(self, key: GroupKey, is_pending: Callable[[Pod], bool]) -> Mapping[str, Pod]:
        """The members that wait for a node, gated ones included, by uid."""
        record = self.record(key)
        record.pending = self._still_pending(record, is_pending)
        return record.pending

    def _still_pending(self, record: GroupRecord, is_pending: Callable[[Pod], bool]) -> dict[str, Pod]:
        placed = self._cluster.pods
        return {uid: pod for uid, pod in record.pending.items() if uid not in placed and is_pending(pod)}

    def _drop_gone(self, is_pending: Callable[[Pod], bool]) -> None:
        for key, record in list(self._records.items()):
            record.pending = self._still_pending(record, is_pending)
            if not record.pending and not self._placed.of(key):
                del self._records[key]
        self._noted = sum(len(record.pending) for record in self._records.values())
        self._max_noted = 2 * self._noted + _MIN_NOTED_PODS

    def assigned(self, group: api.CoschedulingPodGroup, key: GroupKey) -> int:
        """Members that have a node, or have finished there."""
        return self._placed.of(key) + group.status.succeeded

    def _changed(self, old: api.CoschedulingPodGroup | None, new: api.CoschedulingPodGroup | None) -> None:
        if new is None and old is not None:
            self._records.pop((old.metadata.namespace, old.metadata.name), None)
