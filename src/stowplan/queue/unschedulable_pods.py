"""Pods that only an event or the unschedulable timeout requeues.

Upstream: pkg/scheduler/backend/queue/unschedulable_pods.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from math import inf

from stowplan.framework import Pod, QueuedPodInfo


class UnschedulablePods:
    """Unschedulable and gated pods, indexed by rejecting plugin: most events concern few of them. Held pods are not
    indexed: the deletion of each victim would otherwise wake every preemptor."""

    def __init__(self, is_held: Callable[[QueuedPodInfo], bool] = lambda info: False) -> None:
        self._is_held = is_held
        self._infos: dict[str, QueuedPodInfo] = {}
        self._rejectors: dict[str, Set[str]] = {}
        """By uid, the plugins under which the pod is indexed."""
        self._by_rejector: dict[str, dict[str, QueuedPodInfo]] = {}
        self._waiting_since = inf

    def __len__(self) -> int:
        return len(self._infos)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._infos.values())

    def put(self, info: QueuedPodInfo) -> None:
        """Add a pod, or update the rejecting plugins of one that is here."""
        uid = info.pod.uid
        self._unindex(uid)
        held = info.gated and self._is_held(info)
        rejectors: Set[str] = frozenset() if held else info.unschedulable_plugins | info.pending_plugins
        for name in rejectors:
            self._by_rejector.setdefault(name, {})[uid] = info
        self._rejectors[uid] = rejectors
        self._infos[uid] = info
        self._waiting_since = min(self._waiting_since, info.waiting_since)
        info.sub_queue = self

    def discard(self, info: QueuedPodInfo) -> None:
        uid = info.pod.uid
        self._unindex(uid)
        del self._infos[uid], self._rejectors[uid]
        info.sub_queue = None

    def replace_pod(self, info: QueuedPodInfo, pod: Pod) -> None:
        info.pod = pod

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """Pods that any of the plugins rejected."""
        found: dict[str, QueuedPodInfo] = {}
        for name in plugins:
            found.update(self._by_rejector.get(name, {}))
        return list(found.values())

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

    def _unindex(self, uid: str) -> None:
        for name in self._rejectors.get(uid, ()):
            infos = self._by_rejector[name]
            del infos[uid]
            if not infos:
                del self._by_rejector[name]
