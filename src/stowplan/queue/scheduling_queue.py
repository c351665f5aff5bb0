"""The scheduling queue.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain, count, islice
from math import floor, inf
from typing import Any

from stowplan import logs
from stowplan.framework import ClusterEvent, Code, Pod, QueuedPodInfo, Status
from stowplan.queue import cluster_events
from stowplan.queue.backoff_queue import BackoffQueue
from stowplan.queue.heap import Less, PodHeap, SortKey, key_by
from stowplan.queue.in_flight import InFlight
from stowplan.queue.namespace_throttle import NamespaceThrottle
from stowplan.queue.nominator import Nominator
from stowplan.queue.queueing_hints import QueueingHintMap, QueueingStrategy
from stowplan.queue.replica_rounds import Feasibility, ReplicaRounds, Unknown
from stowplan.queue.unschedulable_pods import UnschedulablePods, WaitingReplicas

log = logs.get(__name__)

FLUSH_INTERVAL_SECONDS = 30.0
"""Interval of the check for pods that exceed the unschedulable timeout."""

ADDED = cluster_events.UNSCHEDULABLE_POD_ADD.label
UPDATED = cluster_events.UNSCHEDULABLE_POD_UPDATE.label
FORCE_ACTIVATE = cluster_events.FORCE_ACTIVATE.label
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"
THROTTLED = "NamespaceThrottled"


class SchedulingQueue:
    """All pending pods, each in exactly one place: active, backing off, throttled, unschedulable (possibly gated) or in
    flight.

    No method blocks: `pop` returns None if no pod is ready, and timers run in `tick`.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        less: Less,
        pre_enqueue: Callable[[Pod, str], Status | None],
        hints: Mapping[str, QueueingHintMap],
        nominator: Nominator,
        initial_backoff: float,
        max_backoff: float,
        unschedulable_timeout: float,
        sort_key: SortKey | None = None,
        on_enter: Callable[[QueuedPodInfo, str, str], None] | None = None,
        max_namespace_share: float = 0.0,
        is_held: Callable[[QueuedPodInfo], bool] = lambda info: False,
        feasibility: Feasibility | None = None,
    ) -> None:
        """`sort_key` takes precedence over `less`. `pre_enqueue` receives the plugin to run first; `on_enter` receives
        (pod; active, backoff or unschedulable; label of the event) whenever a pod enters a sub-queue.
        `max_namespace_share` limits namespaces that are charged; 0 and 1 set no limit. Gated pods for which `is_held`
        is true when they are gated are skipped by events until `release`. Replicas about which `feasibility` knows are
        woken one at a time."""
        self._clock = clock
        self._pre_enqueue = pre_enqueue
        self._hints = hints
        self._nominator = nominator
        self._unschedulable_timeout = unschedulable_timeout
        self._on_enter = on_enter
        tickets = count(1)
        key = sort_key or key_by(less)
        self._infos: dict[str, QueuedPodInfo] = {}
        """All pods except those in flight, by uid."""
        self._active = PodHeap(key, tickets)
        self._backoff = BackoffQueue(clock, initial_backoff, max_backoff, key, tickets)
        self._throttle = NamespaceThrottle(max_namespace_share, key, tickets)
        self._charged = self._throttle.full_at
        """Not empty while a namespace may have to wait."""
        self._unschedulable = UnschedulablePods(is_held, key)
        self._rounds = ReplicaRounds(
            self._unschedulable, feasibility or Unknown(), key, self._requeue_replica, self._is_next
        )
        self._awake = self._rounds.awake
        self._in_flight = InFlight()
        self._interested: dict[ClusterEvent, tuple[str, ...]] = {}
        self._next_flush = clock() + FLUSH_INTERVAL_SECONDS

    # Pods

    def add(self, pod: Pod) -> None:
        """Add a pending pod."""
        self._add(pod, ADDED)

    def update(self, old: Pod, new: Pod) -> None:
        """Update a pending pod."""
        uid = new.uid
        if uid in self._in_flight:
            # If the attempt fails, these events decide how the pod is requeued.
            for event in cluster_events.pod_events(old, new, assigned=False):
                self._in_flight.record(event, old, new)
            return
        info = self._infos.get(uid)
        if info is None or info.sub_queue is None:
            self._add(new, UPDATED)
            return
        info.sub_queue.replace_pod(info, new)
        self._nominator.update(old, new)
        if info.sub_queue is self._unschedulable:
            for event in cluster_events.pod_events(old, new, assigned=False):
                if self._requeue(info, self._strategy(info, event, old, new), event.label):
                    break

    def remove(self, pod: Pod) -> None:
        """Remove a pod that was deleted or bound. In flight it stays until `done`."""
        self._nominator.remove(pod)
        info = self._infos.pop(pod.uid, None)
        if info is not None:
            _discard(info)
            if pod.uid in self._awake:
                self._rounds.ended(pod.uid)

    # Attempts

    def pop(self) -> QueuedPodInfo | None:
        """The next pod to try; it is in flight until `done`. If no pod is active, rejected pods are tried before their
        backoff ends, but not pods whose attempt met an error."""
        while True:
            info = self._active.pop()
            if info is None:
                info = self._backoff.rejected.pop()
                if info is not None:
                    self._entered(info, "active", POP_FROM_BACKOFF)
                elif (info := self._throttle.pop_unopposed(self._clock)) is not None:
                    self._entered(info, "active", BACKOFF_COMPLETE)
                else:
                    return None
            uid = info.pod.uid
            if self._charged and not self._throttle.admits(info, self._clock()):
                self._entered(info, "backoff", THROTTLED)
                self._rounds.ended(uid)
                continue
            if uid in self._awake and not self._rounds.still_fits(info.pod):
                self._put_back(info)
                continue
            del self._infos[uid]
            info.attempts += 1
            if uid not in self._in_flight:
                self._in_flight.enter(info)
                return info
            self._rounds.ended(uid)
            log.error(
                None,
                "The same pod is tracked in multiple places in the scheduler, and just discard it",
                pod=logs.ref(info.pod),
            )

    def add_unschedulable(self, info: QueuedPodInfo) -> bool:
        """Requeue a pod after a failed attempt; `done` has to follow. The caller has set its current pod and the
        rejecting plugins. False if the pod is queued already."""
        uid = info.pod.uid
        if uid in self._infos:
            log.error(None, "Pod is already present in the scheduling queue", pod=logs.ref(info.pod))
            return False
        if info.rejected:
            info.unschedulable_count += 1
            info.consecutive_errors = 0
        elif not info.is_spared:
            info.consecutive_errors += 1
        info.timestamp = self._clock()
        info.backoff_expiration = None
        info.was_flushed = False
        info.flush_timestamp = -inf
        self._infos[uid] = info
        self._rounds.failed(uid)
        self._requeue(info, self._strategy_after_attempt(info), SCHEDULE_ATTEMPT_FAILURE)
        return True

    def done(self, uid: str) -> None:
        """The pod is no longer in flight: it was requeued, or is being bound. Does nothing if it was not in flight."""
        self._in_flight.leave(uid)
        self.placed(uid)

    def placed(self, uid: str) -> None:
        """The attempt of the pod has found a node, which may take longer to be confirmed: others may be tried."""
        if uid in self._awake:
            self._rounds.ended(uid)

    def charge(self, namespace: str, seconds: float) -> float:
        """The attempt of the pod popped last was expensive; returns how long pods of its namespace have to wait."""
        return self._throttle.charge(namespace, seconds, self._clock())

    # Events

    def release(self, uid: str) -> None:
        """The pod is no longer held: events may wake it."""
        info = self._infos.get(uid)
        if info is not None and info.sub_queue is self._unschedulable:
            self._unschedulable.put(info)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pods to the active queue regardless of backoff. Pods in flight are retried if their attempt fails;
        unknown pods are ignored."""
        for pod in pods:
            info = self._infos.get(pod.uid)
            if info is None:
                if pod.uid in self._in_flight:
                    self._in_flight.record(cluster_events.FORCE_ACTIVATE, None, pod)
            elif info.sub_queue is not self._active:
                self._activate(info, FORCE_ACTIVATE, run_pre_enqueue=info.sub_queue is self._unschedulable)

    def activate_spared(self, circuit: Hashable, limit: int | None = None) -> None:
        """Move the pods whose last attempt ended for this circuit, or some of them, to the active queue."""
        waiting = chain(self._backoff.failed, self._unschedulable)
        spared = (info.pod for info in waiting if info.spared == (circuit, info.attempts))
        self.activate(list(islice(spared, limit)))

    def move(self, event: ClusterEvent, old: Any, new: Any, pre_check: Callable[[Pod], bool] | None = None) -> None:
        """MoveAllToActiveOrBackoffQueue: requeue the unschedulable pods that the event may make schedulable. Old and
        new are `Pod`s or API structs; `pre_check` excludes pods that the event does not concern."""
        if not self._unschedulable and not self._in_flight:
            return
        if event.wildcard:
            infos = list(self._unschedulable)
        else:
            interested = self._plugins_interested(event)
            if not interested:
                return
            infos = self._woken_one_by_one(self._unschedulable.rejected_by(interested), event, old, new)
        if pre_check is not None:
            infos = [info for info in infos if pre_check(info.pod)]
        self._wake(infos, event, old, new)
        self._rounds.advance()

    # Time

    def tick(self) -> None:
        """Requeue pods whose backoff or unschedulable timeout has ended."""
        for info in self._backoff.take_completed():
            self._activate(info, BACKOFF_COMPLETE, run_pre_enqueue=False)
        now = self._clock()
        if self._charged:
            for info in self._throttle.take_released(now):
                self._activate(info, BACKOFF_COMPLETE, run_pre_enqueue=False)
        if now < self._next_flush:
            return
        self._next_flush += FLUSH_INTERVAL_SECONDS * (floor((now - self._next_flush) / FLUSH_INTERVAL_SECONDS) + 1)
        overdue = self._unschedulable.flush(self._unschedulable_timeout, now)
        if overdue:
            self._wake(overdue, cluster_events.UNSCHEDULABLE_TIMEOUT, None, None)

    def next_deadline(self) -> float | None:
        """When `tick` has something to do next, if ever."""
        deadline = self._backoff.next_completion()
        if self._charged:
            deadline = min(deadline, self._throttle.next_release(self._clock()))
        if self._unschedulable:
            late = self._unschedulable.waiting_since + self._unschedulable_timeout - self._next_flush
            flush = self._next_flush + FLUSH_INTERVAL_SECONDS * max(floor(late / FLUSH_INTERVAL_SECONDS) + 1, 0)
            deadline = min(deadline, flush)
        return None if deadline == inf else deadline

    # Views

    def __len__(self) -> int:
        """Number of queued pods, without those in flight."""
        return len(self._infos)

    def is_queued(self, uid: str) -> bool:
        return uid in self._infos

    def in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    @property
    def in_flight_pods(self) -> Iterator[QueuedPodInfo]:
        """Pods in flight, in the order of pop."""
        return iter(self._in_flight)

    @property
    def active(self) -> Iterator[QueuedPodInfo]:
        """In the order of pop."""
        return iter(self._active)

    def next_to_pop(self, count: int) -> list[QueuedPodInfo]:
        """The first pods of the active queue, in the order of pop."""
        return self._active.first(count)

    def next_to_return(self, count: int) -> list[QueuedPodInfo]:
        """The first pods in backoff, in the order in which their backoff ends, and pods of throttled namespaces."""
        found = [*self._backoff.rejected.first(count), *self._backoff.failed.first(count)]
        found.sort(key=self._backoff.expiration)
        return [*found, *islice(self._throttle, count)][:count]

    @property
    def backoff(self) -> Iterator[QueuedPodInfo]:
        return iter(self._backoff.rejected)

    @property
    def error_backoff(self) -> Iterator[QueuedPodInfo]:
        return iter(self._backoff.failed)

    @property
    def throttled(self) -> Iterator[QueuedPodInfo]:
        """Pods of namespaces that have used up their share."""
        return iter(self._throttle)

    @property
    def unschedulable(self) -> Iterator[QueuedPodInfo]:
        return (info for info in self._unschedulable if not info.gated)

    @property
    def gated(self) -> Iterator[QueuedPodInfo]:
        return (info for info in self._unschedulable if info.gated)

    def place_of(self, uid: str) -> tuple[str, QueuedPodInfo] | None:
        """(the view that holds the pod, or `in_flight`; the pod); None for an unknown pod."""
        info = self._infos.get(uid)
        if info is None:
            found = next((info for info in self._in_flight if info.pod.uid == uid), None)
            return None if found is None else ("in_flight", found)
        if info.sub_queue is self._unschedulable:
            return "gated" if info.gated else "unschedulable", info
        if info.sub_queue is self._active:
            return "active", info
        if info.sub_queue is self._backoff.rejected:
            return "backoff", info
        return "error_backoff" if info.sub_queue is self._backoff.failed else "throttled", info

    def waits_for_turn(self, info: QueuedPodInfo) -> bool:
        """Whether an unschedulable pod is tried, if it fits, after the attempt of a replica or of another template."""
        replicas = self._unschedulable.replicas_of(info)
        return replicas is not None and self._rounds.is_due(replicas)

    def retry_deadline(self, info: QueuedPodInfo) -> float:
        """When the unschedulable timeout requeues an unschedulable pod."""
        late = info.waiting_since + self._unschedulable_timeout - self._next_flush
        return self._next_flush + FLUSH_INTERVAL_SECONDS * max(floor(late / FLUSH_INTERVAL_SECONDS) + 1, 0)

    def waking_events(self, info: QueuedPodInfo, plugin: str) -> list[ClusterEvent]:
        """The events that a plugin of the pod's profile registered."""
        table = self._hints.get(info.pod.spec.scheduler_name)
        return [] if table is None else table.events_of(plugin)

    def counts(self) -> dict[str, int]:
        """Number of pods by sub-queue; throttled pods count as backing off."""
        gated = sum(1 for _ in self.gated)
        return {
            "active": len(self._active),
            "backoff": len(self._backoff) + len(self._throttle),
            "unschedulable": len(self._unschedulable) - gated,
            "gated": gated,
        }

    # Implementation

    def _add(self, pod: Pod, label: str) -> None:
        uid = pod.uid
        if uid in self._infos:
            _discard(self._infos[uid])
        info = self._infos[uid] = QueuedPodInfo(pod, self._clock())
        if self._activate(info, label, run_pre_enqueue=True):
            self._nominator.add(pod)

    def _activate(self, info: QueuedPodInfo, label: str, run_pre_enqueue: bool) -> bool:
        """Move a pod to the active queue, unless PreEnqueue gates it."""
        if run_pre_enqueue and self._is_gated(info):
            self._put_unschedulable(info, label)
            return False
        if info.sub_queue is not None:
            info.sub_queue.discard(info)
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._clock()
        self._active.push(info)
        if self._on_enter is not None:
            self._on_enter(info, "active", label)
        return True

    def _back_off(self, info: QueuedPodInfo, label: str) -> bool:
        """Move a pod to the backoff queue, unless PreEnqueue gates it."""
        if self._is_gated(info):
            self._put_unschedulable(info, label)
            return False
        _discard(info)
        self._backoff.push(info)
        self._entered(info, "backoff", label)
        return True

    def _put_unschedulable(self, info: QueuedPodInfo, label: str) -> None:
        # A gated pod has no attempt that would reset this, and an event may wake it next.
        if info.gated:
            info.was_flushed = False
        arrives = info.sub_queue is not self._unschedulable
        self._unschedulable.put(info)
        if arrives:
            self._entered(info, "unschedulable", label)

    def _is_gated(self, info: QueuedPodInfo) -> bool:
        status = self._pre_enqueue(info.pod, info.gating_plugin)
        if status is None or status.code is Code.Success:
            info.gating_plugin = ""
            return False
        if status.code is Code.Error:
            log.error(
                status.message,
                "Unexpected error running PreEnqueue plugin",
                pod=logs.ref(info.pod),
                plugin=status.plugin,
            )
        info.gating_plugin = status.plugin
        info.unschedulable_plugins = info.unschedulable_plugins | {status.plugin}
        return True

    def _requeue(self, info: QueuedPodInfo, strategy: QueueingStrategy, label: str) -> bool:
        """Requeue a pod by a strategy; False if it stays unschedulable."""
        if strategy is QueueingStrategy.Skip:
            self._put_unschedulable(info, label)
            return False
        if strategy is QueueingStrategy.AfterBackoff and self._backoff.holds(info):
            return self._back_off(info, label)
        return self._activate(info, label, run_pre_enqueue=True)

    def _woken_one_by_one(
        self, found: list[WaitingReplicas], event: ClusterEvent, old: Any, new: Any
    ) -> list[QueuedPodInfo]:
        """Give replicas their turn about which it is known whether they fit; returns the other pods."""
        infos: list[QueuedPodInfo] = []
        for replicas in found:
            if self._rounds.predicts(replicas):
                head = replicas.head()
                if self._strategy(head, event, old, new) is not QueueingStrategy.Skip:
                    plugins = self._hints[head.pod.spec.scheduler_name].plugins
                    self._rounds.concern(replicas, event.label, plugins)
            else:
                infos += replicas.infos.values()
        return infos

    def _is_next(self, uid: str) -> bool:
        info = self._infos.get(uid)
        return uid in self._in_flight if info is None else info.sub_queue is self._active

    def _requeue_replica(self, info: QueuedPodInfo, label: str) -> bool:
        self._unschedulable.discard(info)
        return self._requeue(info, QueueingStrategy.AfterBackoff, label)

    def _put_back(self, info: QueuedPodInfo) -> None:
        """Return a pod that was woken in vain, without an attempt; other plugins may reject it by now."""
        self._put_unschedulable(info, SCHEDULE_ATTEMPT_FAILURE)
        replicas, table = self._unschedulable.replicas_of(info), self._hints.get(info.pod.spec.scheduler_name)
        if replicas is not None and table is not None:
            self._unschedulable.widen(replicas, table.plugins)
        self._rounds.advance()

    def _wake(self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any) -> None:
        label = event.label if infos else ""
        for info in infos:
            if info.gated and not event.wildcard and not self._may_ungate(info, event):
                continue
            strategy = self._strategy(info, event, old, new)
            if strategy is not QueueingStrategy.Skip:
                self._unschedulable.discard(info)
                self._requeue(info, strategy, label)
        if self._in_flight:
            self._in_flight.record(event, old, new)

    def _may_ungate(self, info: QueuedPodInfo, event: ClusterEvent) -> bool:
        table = self._hints.get(info.pod.spec.scheduler_name)
        return table is not None and table.is_registered(info.gating_plugin, event)

    def _strategy(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        table = self._hints.get(info.pod.spec.scheduler_name)
        if table is None:
            return QueueingStrategy.AfterBackoff
        replicas = self._unschedulable.replicas_of(info)
        if replicas is None or not replicas.widened:
            return table.worth_retrying(info, event, old, new)
        return table.worth_retrying(info, event, old, new, table.plugins)

    def _strategy_after_attempt(self, info: QueuedPodInfo) -> QueueingStrategy:
        if not info.rejected or info.pod.uid not in self._in_flight:
            return QueueingStrategy.AfterBackoff
        best = QueueingStrategy.Skip
        for event, old, new in self._in_flight.events_since(info):
            strategy = self._strategy(info, event, old, new)
            if strategy is not QueueingStrategy.Skip:
                best = strategy
            if best is QueueingStrategy.Immediately or (
                best is QueueingStrategy.AfterBackoff and not info.pending_plugins
            ):
                break
        return best

    def _plugins_interested(self, event: ClusterEvent) -> tuple[str, ...]:
        found = self._interested.get(event)
        if found is None:
            names = (name for table in self._hints.values() for name, _ in table.registered_for(event))
            found = self._interested[event] = tuple(dict.fromkeys(names))
        return found

    def _entered(self, info: QueuedPodInfo, queue: str, label: str) -> None:
        if self._on_enter is not None:
            self._on_enter(info, queue, label)


def _discard(info: QueuedPodInfo) -> None:
    if info.sub_queue is not None:
        info.sub_queue.discard(info)
