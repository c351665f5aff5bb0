"""Pods that only an event or the unschedulable timeout requeues.

Upstream: pkg/scheduler/backend/queue/unschedulable_pods.go
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from math import inf

from stowplan.framework import Pod, QueuedPodInfo


class EqualPods:
    """Unschedulable pods of one template that the same plugins rejected; a gated, pending or nominated pod is alone."""

    __slots__ = ("infos", "key", "rejectors")

    def __init__(self, key: Hashable, rejectors: frozenset[str]) -> None:
        self.key = key
        self.rejectors = rejectors
        self.infos: dict[str, QueuedPodInfo] = {}
        """By uid, in the order in which they came."""


class UnschedulablePods:
    """Unschedulable and gated pods, grouped by template and indexed by rejecting plugin: most events concern few of
    them. Held pods are not indexed: the deletion of each victim would otherwise wake every preemptor. Nor are members
    of a pod group that are woken with another one."""

    def __init__(self, is_held: Callable[[QueuedPodInfo], bool] = lambda info: False) -> None:
        self._is_held = is_held
        self._infos: dict[str, QueuedPodInfo] = {}
        self._groups: dict[Hashable, EqualPods] = {}
        self._of: dict[str, EqualPods] = {}
        """The group that a pod belongs to, by its uid."""
        self._by_rejector: dict[str, dict[Hashable, EqualPods]] = {}
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
        key: Hashable = uid if alone else (info.pod.template, rejectors)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = EqualPods(key, rejectors)
            for name in rejectors:
                self._by_rejector.setdefault(name, {})[key] = group
        group.infos[uid] = info
        self._of[uid] = group
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

    def before(self, info: QueuedPodInfo) -> QueuedPodInfo | None:
        """The pod of the same group that came right before a pod which came last."""
        newest = reversed(self._of[info.pod.uid].infos.values())
        next(newest)
        return next(newest, None)

    def split(self, info: QueuedPodInfo, parts: Iterable[QueuedPodInfo]) -> None:
        """Put equal pods in the place of a batch, or a batch in the place of its first pod."""
        group, uid = self._of.pop(info.pod.uid), info.pod.uid
        del self._infos[uid]
        if info.sub_queue is self:
            info.sub_queue = None
        later = {}
        while (latest := group.infos.popitem())[0] != uid:
            later[latest[0]] = latest[1]
        for part in parts:
            group.infos[part.pod.uid] = self._infos[part.pod.uid] = part
            self._of[part.pod.uid] = group
            part.sub_queue = self
        group.infos.update(reversed(later.items()))

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """Pods that any of the plugins rejected."""
        found: dict[Hashable, EqualPods] = {}
        for name in plugins:
            found.update(self._by_rejector.get(name, {}))
        return [info for group in found.values() for info in group.infos.values()]

    def by_group(self) -> list[QueuedPodInfo]:
        """All pods, in the order of `rejected_by`."""
        return [info for group in self._groups.values() for info in group.infos.values()]

    def flush(self, timeout: float, now: float) -> list[QueuedPodInfo]:
        """Mark and return all pods that have waited for longer than the timeout."""
        overdue = [info for info in self.by_group() if now - info.waiting_since > timeout]
        for info in overdue:
            info.was_flushed = True
            info.flush_timestamp = now
        self._waiting_since = min((info.waiting_since for info in self), default=inf)
        return overdue

    @property
    def waiting_since(self) -> float:
        """A lower bound of the time since which pods wait; infinite without any pod."""
        return self._waiting_since if self._infos else inf

    def _leave(self, uid: str) -> None:
        group = self._of.pop(uid)
        del group.infos[uid]
        if group.infos:
            return
        del self._groups[group.key]
        for name in group.rejectors:
            indexed = self._by_rejector[name]
            del indexed[group.key]
            if not indexed:
                del self._by_rejector[name]
