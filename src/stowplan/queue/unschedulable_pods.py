"""Pods that only an event or the unschedulable timeout requeues.

Upstream: pkg/scheduler/backend/queue/unschedulable_pods.go
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any

from stowplan.framework import Pod, PodTemplate, QueuedPodInfo
from stowplan.queue.heap import SortKey

_MAX_STALE_ENTRIES = 64
"""Entries of removed pods kept beyond the number of pods before a heap is rebuilt."""


class WaitingReplicas:
    """Unschedulable pods of one template that the same plugins rejected; a gated, pending or nominated pod is alone."""

    __slots__ = ("_entries", "_number_of", "infos", "key", "plugins", "rejectors", "template", "widened")

    def __init__(self, key: Hashable, template: PodTemplate | None, rejectors: Set[str]) -> None:
        self.key = key
        self.template = template
        """None for a pod that is alone."""
        self.rejectors = rejectors
        self.plugins = rejectors
        """The plugins under which the pods are indexed."""
        self.widened = False
        """Whether other plugins may reject the pods by now: any plugin's events concern them."""
        self.infos: dict[str, QueuedPodInfo] = {}
        self._number_of: dict[str, int] = {}
        self._entries: list[tuple[Any, ...]] = []
        """(*sort key, number, uid); stale if the pod has another number."""

    def add(self, info: QueuedPodInfo, key: SortKey, number: int) -> None:
        uid = info.pod.uid
        self.infos[uid] = info
        if self.template is not None:
            self._number_of[uid] = number
            if len(self._entries) > 2 * len(self.infos) + _MAX_STALE_ENTRIES:
                self._entries = [entry for entry in self._entries if self._number_of.get(entry[-1]) == entry[-2]]
                heapify(self._entries)
            heappush(self._entries, (*key(info), number, uid))

    def remove(self, uid: str) -> None:
        del self.infos[uid]
        self._number_of.pop(uid, None)

    def head(self) -> QueuedPodInfo:
        """The pod that is tried first."""
        entries = self._entries
        while entries:
            if self._number_of.get(entries[0][-1]) == entries[0][-2]:
                return self.infos[entries[0][-1]]
            heappop(entries)
        return next(iter(self.infos.values()))


class UnschedulablePods:
    """Unschedulable and gated pods, grouped by template and indexed by rejecting plugin: most events concern few of
    them. Held pods are not indexed: the deletion of each victim would otherwise wake every preemptor. Nor are members
    of a pod group that are woken with another one."""

    def __init__(
        self, is_held: Callable[[QueuedPodInfo], bool] = lambda info: False, key: SortKey = lambda info: (0,)
    ) -> None:
        self._is_held = is_held
        self._key = key
        self._numbers = count()
        self._infos: dict[str, QueuedPodInfo] = {}
        self._replicas: dict[Hashable, WaitingReplicas] = {}
        self._of: dict[str, WaitingReplicas] = {}
        """The replicas that a pod belongs to, by its uid."""
        self._by_rejector: dict[str, dict[Hashable, WaitingReplicas]] = {}
        self._waiting_since = inf

    def __len__(self) -> int:
        return len(self._infos)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._infos.values())

    def put(self, info: QueuedPodInfo) -> None:
        """Add a pod, or update the rejecting plugins of one that is here."""
        uid = info.pod.uid
        if uid in self._of:
            self._leave(uid)
        held = info.follows_group or (info.gated and self._is_held(info))
        rejectors: frozenset[str] = (
            frozenset() if held else frozenset(info.unschedulable_plugins | info.pending_plugins)
        )
        alone = info.gated or bool(info.pending_plugins) or not rejectors or bool(info.pod.nominated_node_name)
        template = None if alone else info.pod.template
        key: Hashable = uid if alone else (template, rejectors)
        replicas = self._replicas.get(key)
        if replicas is None:
            replicas = self._replicas[key] = WaitingReplicas(key, template, rejectors)
            self._index(replicas, rejectors)
        replicas.add(info, self._key, next(self._numbers))
        self._of[uid] = replicas
        self._infos[uid] = info
        self._waiting_since = min(self._waiting_since, info.waiting_since)
        info.sub_queue = self

    def discard(self, info: QueuedPodInfo) -> None:
        uid = info.pod.uid
        self._leave(uid)
        del self._infos[uid]
        info.sub_queue = None

    def replace_pod(self, info: QueuedPodInfo, pod: Pod) -> None:
        regroup = pod.template is not info.pod.template or pod.nominated_node_name != info.pod.nominated_node_name
        info.pod = pod
        if regroup:
            self.put(info)

    def rejected_by(self, plugins: Iterable[str]) -> list[WaitingReplicas]:
        """Pods that any of the plugins rejected, or may reject by now."""
        found: dict[Hashable, WaitingReplicas] = {}
        for name in plugins:
            found.update(self._by_rejector.get(name, {}))
        return list(found.values())

    def replicas(self, key: Hashable) -> WaitingReplicas | None:
        return self._replicas.get(key)

    def replicas_of(self, info: QueuedPodInfo) -> WaitingReplicas | None:
        """The replicas that an unschedulable pod belongs to."""
        return self._of.get(info.pod.uid)

    def widen(self, replicas: WaitingReplicas, plugins: Iterable[str]) -> None:
        """Let events of these plugins concern the pods, too."""
        if not replicas.widened:
            replicas.widened = True
            self._index(replicas, replicas.rejectors | frozenset(plugins))

    def flush(self, timeout: float, now: float) -> list[QueuedPodInfo]:
        """Mark and return all pods that have waited for longer than the timeout."""
        overdue = [info for info in self if now - info.waiting_since > timeout]
        for info in overdue:
            info.was_flushed = True
            info.flush_timestamp = now
        self._waiting_since = min((info.waiting_since for info in self), default=inf)
        return overdue

    @property
    def waiting_since(self) -> float:
        """A lower bound of the time since which pods wait; infinite without any pod."""
        return self._waiting_since if self._infos else inf

    def _index(self, replicas: WaitingReplicas, plugins: Set[str]) -> None:
        replicas.plugins = plugins
        for name in plugins:
            self._by_rejector.setdefault(name, {})[replicas.key] = replicas

    def _leave(self, uid: str) -> None:
        replicas = self._of.pop(uid)
        replicas.remove(uid)
        if replicas.infos:
            return
        del self._replicas[replicas.key]
        for name in replicas.plugins:
            indexed = self._by_rejector[name]
            del indexed[replicas.key]
            if not indexed:
                del self._by_rejector[name]
