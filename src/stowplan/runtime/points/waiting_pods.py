"""Pods that wait at Permit.

Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from math import inf
from threading import Lock
from typing import NamedTuple

from stowplan.framework import Code, Pod, Request, Status

Defer = Callable[[Callable[[], None]], None]
"""Runs a callback at once, or later on the scheduler's thread."""


def at_once(action: Callable[[], None]) -> None:
    action()


MAX_PERMIT_WAIT_SECONDS = 15 * 60.0
"""A plugin that returns a longer wait gets this."""


class PermitWait(NamedTuple):
    """The wait that a Permit plugin returned."""

    seconds: float
    reason: str = ""
    """What the pod waits for, in the plugin's words."""


REMOVED = "removed"
"""The reason for rejecting a waiting pod that was deleted."""


class PermitVerdict(Request):
    """Awaited by the binding cycle of a waiting pod. Answered with None once all plugins allow the pod, else with a
    Status."""

    __slots__ = ("waiting",)

    def __init__(self, waiting: WaitingPodEntry) -> None:
        self.waiting = waiting


class WaitingPodEntry:
    """A waiting pod with the plugins that have not allowed it yet. The first verdict counts; later ones are ignored.

    Plugins may call `allow` and `reject` from any thread; callbacks run where `defer` runs them.
    """

    __slots__ = ("_defer", "_lock", "_on_verdict", "_pending", "_verdict", "deadline", "pod", "reasons")

    def __init__(
        self, pod: Pod, plugins: Collection[str], defer: Defer = at_once, reasons: Mapping[str, str] = {}
    ) -> None:
        self.pod = pod
        self.reasons = reasons
        """What the pod waits for, by plugin."""
        self.deadline = inf
        """When the first plugin's wait is over and the pod is rejected, by the scheduler's clock."""
        self._defer = defer
        self._lock = Lock()
        self._pending = dict.fromkeys(plugins)
        self._verdict: tuple[Status | None] | None = None
        self._on_verdict: list[Callable[[Status | None], None]] = []

    @property
    def pending_plugins(self) -> list[str]:
        return list(self._pending)

    @property
    def settled(self) -> bool:
        return self._verdict is not None

    def allow(self, plugin: str) -> None:
        self._pending.pop(plugin, None)
        if not self._pending:
            self._settle(None)

    def reject(self, plugin: str, reason: str) -> bool:
        return self._settle(Status(Code.Unschedulable, reason, plugin=plugin))

    def preempt(self, plugin: str, reason: str) -> bool:
        """Rejects the pod with an error, so that it is retried after a backoff instead of waiting for an event."""
        return self._settle(Status(Code.Error, reason, plugin=plugin))

    def when_settled(self, callback: Callable[[Status | None], None]) -> None:
        """Calls back with the verdict, at once if there is one."""
        if self._verdict is None:
            self._on_verdict.append(callback)
        else:
            callback(self._verdict[0])

    def _settle(self, verdict: Status | None) -> bool:
        with self._lock:
            if self._verdict is not None:
                return False
            self._verdict = (verdict,)
        self._defer(partial(self._notify, verdict))
        return True

    def _notify(self, verdict: Status | None) -> None:
        for callback in self._on_verdict:
            callback(verdict)


class WaitingPods:
    """All waiting pods of a scheduler, by uid."""

    def __init__(self, defer: Defer = at_once) -> None:
        self._defer = defer
        self._entries: dict[str, WaitingPodEntry] = {}

    def add(self, pod: Pod, waits: Mapping[str, PermitWait]) -> WaitingPodEntry:
        reasons = {plugin: wait.reason for plugin, wait in waits.items()}
        entry = self._entries[pod.uid] = WaitingPodEntry(pod, waits, self._defer, reasons)
        return entry

    def get(self, uid: str) -> WaitingPodEntry | None:
        return self._entries.get(uid)

    def remove(self, uid: str) -> None:
        self._entries.pop(uid, None)

    def __iter__(self) -> Iterator[WaitingPodEntry]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
