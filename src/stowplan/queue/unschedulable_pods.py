"""Units that nothing but an event, or much time, will bring back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from math import inf

from stowplan.framework import Pod
from stowplan.queue.queued_pod_info import QueuedPod


class UnschedulablePods:
    """Unschedulable and gated units, found by who rejected them: most events are no news for most of them."""

    def __init__(self) -> None:
        self._units: dict[str, QueuedPod] = {}
        self._rejectors: dict[str, Set[str]] = {}
        """By uid, the names under which a unit is found."""
        self._by_rejector: dict[str, dict[str, QueuedPod]] = {}
        self._waiting_since = inf

    def __len__(self) -> int:
        return len(self._units)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._units.values())

    def put(self, unit: QueuedPod) -> None:
        """Hold a unit; one that is here already may have other rejectors now."""
        uid = unit.pod.uid
        self._unindex(uid)
        rejectors = unit.unschedulable_plugins | unit.pending_plugins
        for name in rejectors:
            self._by_rejector.setdefault(name, {})[uid] = unit
        self._rejectors[uid] = rejectors
        self._units[uid] = unit
        self._waiting_since = min(self._waiting_since, unit.waiting_since)
        unit.place = self

    def discard(self, unit: QueuedPod) -> None:
        uid = unit.pod.uid
        self._unindex(uid)
        del self._units[uid], self._rejectors[uid]
        unit.place = None

    def replace_pod(self, unit: QueuedPod, pod: Pod) -> None:
        unit.pod = pod

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPod]:
        """Units that any of the plugins rejected."""
        found: dict[str, QueuedPod] = {}
        for name in plugins:
            found.update(self._by_rejector.get(name, {}))
        return list(found.values())

    def flush(self, timeout: float, now: float) -> list[QueuedPod]:
        """Mark and return all units that have been waiting for longer than the timeout."""
        overdue = [unit for unit in self if now - unit.waiting_since > timeout]
        for unit in overdue:
            unit.was_flushed = True
            unit.flush_timestamp = now
        self._waiting_since = min((unit.waiting_since for unit in self), default=inf)
        return overdue

    @property
    def waiting_since(self) -> float:
        """No unit has been waiting since before then; infinite if there is none."""
        return self._waiting_since if self._units else inf

    def _unindex(self, uid: str) -> None:
        for name in self._rejectors.get(uid, ()):
            units = self._by_rejector[name]
            del units[uid]
            if not units:
                del self._by_rejector[name]
