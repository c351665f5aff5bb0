"""Who is tried next, who waits for how long, and what wakes whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from math import floor, inf
from typing import Any

from stowplan import logs
from stowplan.framework import ClusterEvent, Code, Pod, Status
from stowplan.queue import cluster_events
from stowplan.queue.backoff_queue import BackoffQueue
from stowplan.queue.heap import Less, PodHeap, SortKey, key_by
from stowplan.queue.in_flight import InFlight
from stowplan.queue.nominator import Nominator
from stowplan.queue.queued_pod_info import QueuedPod
from stowplan.queue.queueing_hints import HintTable, QueueingStrategy
from stowplan.queue.unschedulable_pods import UnschedulablePods

log = logs.get(__name__)

FLUSH_INTERVAL = 30.0
"""Seconds between looks for units that have been unschedulable for too long."""

ADDED = cluster_events.UNSCHEDULABLE_POD_ADD.label
UPDATED = cluster_events.UNSCHEDULABLE_POD_UPDATE.label
FORCE_ACTIVATE = cluster_events.FORCE_ACTIVATE.label
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"


class SchedulingQueue:
    """All pending pods, each in exactly one place: active, backing off, unschedulable (perhaps gated) or in flight.

    Nothing here waits: `pop` answers None when nobody is ready, and timers run when `tick` is called.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        less: Less,
        pre_enqueue: Callable[[Pod, str], Status | None],
        hints: Mapping[str, HintTable],
        nominator: Nominator,
        sort_key: SortKey | None = None,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        unschedulable_timeout: float = 300.0,
        on_enter: Callable[[QueuedPod, str, str], None] | None = None,
    ) -> None:
        """`sort_key` replaces `less` where it is given. `pre_enqueue` is told which plugin to ask first, and
        `on_enter` hears of each arrival: (unit; active, backoff or unschedulable; label of the event behind it)."""
        self._clock = clock
        self._pre_enqueue = pre_enqueue
        self._hints = hints
        self._nominator = nominator
        self._unschedulable_timeout = unschedulable_timeout
        self._on_enter = on_enter
        tickets = count(1)
        key = sort_key or key_by(less)
        self._units: dict[str, QueuedPod] = {}
        """All units but those in flight, by uid."""
        self._active = PodHeap(key, tickets)
        self._backoff = BackoffQueue(clock, initial_backoff, max_backoff, key, tickets)
        self._pool = UnschedulablePods()
        self._in_flight = InFlight()
        self._interested: dict[ClusterEvent, tuple[str, ...]] = {}
        self._next_flush = clock() + FLUSH_INTERVAL

    # Pods come and go

    def add(self, pod: Pod) -> None:
        """A new pending pod."""
        self._add(pod, ADDED)

    def update(self, old: Pod, new: Pod) -> None:
        """A pending pod has changed."""
        uid = new.uid
        if uid in self._in_flight:
            # It may come back, and then these events decide where to.
            for event in cluster_events.pod_events(old, new, assigned=False):
                self._in_flight.record(event, old, new)
            return
        unit = self._units.get(uid)
        if unit is None or unit.place is None:
            self._add(new, UPDATED)
            return
        unit.place.replace_pod(unit, new)
        self._nominator.update(old, new)
        if unit.place is self._pool:
            for event in cluster_events.pod_events(old, new, assigned=False):
                if self._requeue(unit, self._strategy(unit, event, old, new), event.label):
                    break

    def remove(self, pod: Pod) -> None:
        """A pending pod is gone, or no longer pending. If it is in flight, it stays so until `done`."""
        self._nominator.remove(pod)
        unit = self._units.pop(pod.uid, None)
        if unit is not None:
            _take_out(unit)

    # Attempts

    def pop(self) -> QueuedPod | None:
        """The next unit to try; it is in flight until `done`. While nobody is active, rejected units are tried before
        their backoff is over. Units that met an error always sit it out."""
        while True:
            unit = self._active.pop()
            if unit is None:
                unit = self._backoff.rejected.pop()
                if unit is None:
                    return None
                self._entered(unit, "active", POP_FROM_BACKOFF)
            uid = unit.pod.uid
            del self._units[uid]
            unit.attempts += 1
            if uid not in self._in_flight:
                self._in_flight.enter(unit)
                return unit
            log.error(
                None,
                "The same pod is tracked in multiple places in the scheduler, and just discard it",
                pod=logs.ref(unit.pod),
            )

    def add_unschedulable(self, unit: QueuedPod) -> bool:
        """Take a unit back after a failed attempt; `done` has to follow. The caller has set its pod as it is now, and
        who rejected it. False if the pod is queued already."""
        uid = unit.pod.uid
        if uid in self._units:
            log.error(None, "Pod is already present in the scheduling queue", pod=logs.ref(unit.pod))
            return False
        if unit.rejected:
            unit.unschedulable_count += 1
            unit.consecutive_errors = 0
        else:
            unit.consecutive_errors += 1
        unit.timestamp = self._clock()
        unit.backoff_expiration = None
        unit.was_flushed = False
        unit.flush_timestamp = -inf
        self._units[uid] = unit
        self._requeue(unit, self._strategy_after_attempt(unit), SCHEDULE_ATTEMPT_FAILURE)
        return True

    def done(self, uid: str) -> None:
        """The unit is no longer in flight: it has come back, or is being bound. Does nothing if it was not."""
        self._in_flight.leave(uid)

    # What wakes units

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these pods as soon as possible, whether they back off or not. Those in flight will be tried again if
        they come back; unknown ones are ignored."""
        for pod in pods:
            unit = self._units.get(pod.uid)
            if unit is None:
                if pod.uid in self._in_flight:
                    self._in_flight.record(cluster_events.FORCE_ACTIVATE, None, pod)
            elif unit.place is not self._active:
                self._activate(unit, FORCE_ACTIVATE, ask=unit.place is self._pool)

    def move(self, event: ClusterEvent, old: Any, new: Any, pre_check: Callable[[Pod], bool] | None = None) -> None:
        """Something happened in the cluster: wake the unschedulable units for which that may change something. Pods
        are `Pod`s, other objects API structs; `pre_check` leaves out pods that are none of this event's business."""
        if not self._pool and not self._in_flight:
            return
        if event.wildcard:
            units = list(self._pool)
        else:
            interested = self._plugins_interested(event)
            if not interested:
                return
            units = self._pool.rejected_by(interested)
        if pre_check is not None:
            units = [unit for unit in units if pre_check(unit.pod)]
        self._wake(units, event, old, new)

    # Time

    def tick(self) -> None:
        """Run the timers that are due."""
        for unit in self._backoff.take_completed():
            self._activate(unit, BACKOFF_COMPLETE, ask=False)
        now = self._clock()
        if now < self._next_flush:
            return
        self._next_flush += FLUSH_INTERVAL * (floor((now - self._next_flush) / FLUSH_INTERVAL) + 1)
        overdue = self._pool.flush(self._unschedulable_timeout, now)
        if overdue:
            self._wake(overdue, cluster_events.UNSCHEDULABLE_TIMEOUT, None, None)

    def next_deadline(self) -> float | None:
        """When `tick` will have something to do; None if nothing waits for time to pass."""
        deadline = self._backoff.next_completion()
        if self._pool:
            late = self._pool.waiting_since + self._unschedulable_timeout - self._next_flush
            flush = self._next_flush + FLUSH_INTERVAL * max(floor(late / FLUSH_INTERVAL) + 1, 0)
            deadline = min(deadline, flush)
        return None if deadline == inf else deadline

    # Views

    def __len__(self) -> int:
        """How many pods are queued; those in flight do not count."""
        return len(self._units)

    def is_queued(self, uid: str) -> bool:
        return uid in self._units

    def in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    @property
    def flying(self) -> Iterator[QueuedPod]:
        """Units in flight, in the order in which they were popped."""
        return iter(self._in_flight)

    @property
    def active(self) -> Iterator[QueuedPod]:
        """In the order in which they will be popped."""
        return iter(self._active)

    @property
    def backoff(self) -> Iterator[QueuedPod]:
        return iter(self._backoff.rejected)

    @property
    def error_backoff(self) -> Iterator[QueuedPod]:
        return iter(self._backoff.failed)

    @property
    def unschedulable(self) -> Iterator[QueuedPod]:
        return (unit for unit in self._pool if not unit.gated)

    @property
    def gated(self) -> Iterator[QueuedPod]:
        return (unit for unit in self._pool if unit.gated)

    def counts(self) -> dict[str, int]:
        """How many pods are pending, by queue."""
        gated = sum(1 for _ in self.gated)
        return {
            "active": len(self._active),
            "backoff": len(self._backoff),
            "unschedulable": len(self._pool) - gated,
            "gated": gated,
        }

    # Inside

    def _add(self, pod: Pod, label: str) -> None:
        uid = pod.uid
        if uid in self._units:
            _take_out(self._units[uid])
        unit = self._units[uid] = QueuedPod(pod, self._clock())
        if self._activate(unit, label, ask=True):
            self._nominator.add(pod)

    def _activate(self, unit: QueuedPod, label: str, ask: bool) -> bool:
        """Make a unit active, unless it is gated."""
        if ask and self._is_gated(unit):
            self._shelve(unit, label)
            return False
        if unit.place is not None:
            unit.place.discard(unit)
        if unit.initial_attempt_timestamp is None:
            unit.initial_attempt_timestamp = self._clock()
        self._active.push(unit)
        if self._on_enter is not None:
            self._on_enter(unit, "active", label)
        return True

    def _back_off(self, unit: QueuedPod, label: str) -> bool:
        """Let a unit wait for the end of its backoff, unless it is gated."""
        if self._is_gated(unit):
            self._shelve(unit, label)
            return False
        _take_out(unit)
        self._backoff.push(unit)
        self._entered(unit, "backoff", label)
        return True

    def _shelve(self, unit: QueuedPod, label: str) -> None:
        # A gated unit has no attempt that could clear this, and the next to wake it may be an event.
        if unit.gated:
            unit.was_flushed = False
        arrives = unit.place is not self._pool
        self._pool.put(unit)
        if arrives:
            self._entered(unit, "unschedulable", label)

    def _is_gated(self, unit: QueuedPod) -> bool:
        status = self._pre_enqueue(unit.pod, unit.gating_plugin)
        if status is None or status.code is Code.Success:
            unit.gating_plugin = ""
            return False
        if status.code is Code.Error:
            log.error(
                status.message,
                "Unexpected error running PreEnqueue plugin",
                pod=logs.ref(unit.pod),
                plugin=status.plugin,
            )
        unit.gating_plugin = status.plugin
        unit.unschedulable_plugins = unit.unschedulable_plugins | {status.plugin}
        return True

    def _requeue(self, unit: QueuedPod, strategy: QueueingStrategy, label: str) -> bool:
        """Put a unit where a strategy wants it. False if that is the pool."""
        if strategy is QueueingStrategy.Skip:
            self._shelve(unit, label)
            return False
        if strategy is QueueingStrategy.AfterBackoff and self._backoff.holds(unit):
            return self._back_off(unit, label)
        return self._activate(unit, label, ask=True)

    def _wake(self, units: list[QueuedPod], event: ClusterEvent, old: Any, new: Any) -> None:
        label = event.label if units else ""
        for unit in units:
            if unit.gated and not event.wildcard and not self._opens_gate(unit, event):
                continue
            strategy = self._strategy(unit, event, old, new)
            if strategy is not QueueingStrategy.Skip:
                self._pool.discard(unit)
                self._requeue(unit, strategy, label)
        if self._in_flight:
            self._in_flight.record(event, old, new)

    def _opens_gate(self, unit: QueuedPod, event: ClusterEvent) -> bool:
        table = self._hints.get(unit.pod.spec.scheduler_name)
        return table is not None and table.hears(unit.gating_plugin, event)

    def _strategy(self, unit: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        table = self._hints.get(unit.pod.spec.scheduler_name)
        return QueueingStrategy.AfterBackoff if table is None else table.worth_retrying(unit, event, old, new)

    def _strategy_after_attempt(self, unit: QueuedPod) -> QueueingStrategy:
        if not unit.rejected or unit.pod.uid not in self._in_flight:
            return QueueingStrategy.AfterBackoff
        best = QueueingStrategy.Skip
        for event, old, new in self._in_flight.events_since(unit):
            strategy = self._strategy(unit, event, old, new)
            if strategy is not QueueingStrategy.Skip:
                best = strategy
            if best is QueueingStrategy.Immediately or (
                best is QueueingStrategy.AfterBackoff and not unit.pending_plugins
            ):
                break
        return best

    def _plugins_interested(self, event: ClusterEvent) -> tuple[str, ...]:
        found = self._interested.get(event)
        if found is None:
            names = (name for table in self._hints.values() for name, _ in table.listeners(event))
            found = self._interested[event] = tuple(dict.fromkeys(names))
        return found

    def _entered(self, unit: QueuedPod, queue: str, label: str) -> None:
        if self._on_enter is not None:
            self._on_enter(unit, queue, label)


def _take_out(unit: QueuedPod) -> None:
    if unit.place is not None:
        unit.place.discard(unit)
