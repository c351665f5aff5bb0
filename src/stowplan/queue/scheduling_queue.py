"""The scheduling queue.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
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
from stowplan.queue.queue_views import QueueViews
from stowplan.queue.queueing_hints import QueueingHintMap, QueueingStrategy
from stowplan.queue.refused_batch import OnRepeated, RefusedBatch
from stowplan.queue.unschedulable_pods import UnschedulablePods

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


class SchedulingQueue(QueueViews):
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
        on_enter_together: Callable[[Collection[QueuedPodInfo], str, str], None] | None = None,
        on_repeated: OnRepeated = lambda info, refusals: None,
        joins_refused: bool = True,
        join_seconds: float = 0.0,
    ) -> None:
        """`sort_key` takes precedence over `less`. `pre_enqueue` receives the plugin to run first; `on_enter` receives
        (pod; active, backoff or unschedulable; label of the event) whenever a pod enters a sub-queue.
        `max_namespace_share` limits namespaces that are charged; 0 and 1 set no limit. Gated pods for which `is_held`
        is true when they are gated are skipped by events until `release`. Of batches of equal pods,
        `on_enter_together` is notified instead of `on_enter`, and `on_repeated` when refusals are added to the counters
        of a pod. `joins_refused` allows batches, of pods refused within `join_seconds`: the queue sort must read only
        templates and timestamps."""
        self._clock = clock
        self._pre_enqueue = pre_enqueue
        self._hints = hints
        self._nominator = nominator
        self._unschedulable_timeout = unschedulable_timeout
        self._on_enter = on_enter
        tickets = count(1)
        key = sort_key or key_by(less)
        self._infos = {}
        self._active = PodHeap(key, tickets)
        self._backoff = BackoffQueue(clock, initial_backoff, max_backoff, key, tickets)
        self._throttle = NamespaceThrottle(max_namespace_share, key, tickets)
        self._charged = self._throttle.full_at
        """Not empty while a namespace may have to wait."""
        self._unschedulable = UnschedulablePods(is_held)
        self._batches = {}
        self._batch_numbers = count(1)
        self._on_enter_together = on_enter_together
        self._on_repeated = on_repeated
        self._joins_refused = joins_refused
        self._join_seconds = join_seconds
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
        if not _stays_equal(old, new):
            self.separate(uid)
            info.refusal = ""
        info.sub_queue.replace_pod(info, new)
        self._nominator.update(old, new)
        if self._holder(info) is self._unschedulable:
            for event in cluster_events.pod_events(old, new, assigned=False):
                strategy = self._strategy(info, event, old, new)
                if strategy is not QueueingStrategy.Skip:
                    self.separate(uid)
                    if self._requeue(info, strategy, event.label):
                        break

    def remove(self, pod: Pod) -> None:
        """Remove a pod that was deleted or bound. In flight it stays until `done`."""
        self._nominator.remove(pod)
        info = self._infos.pop(pod.uid, None)
        if info is not None:
            _discard(info)

    # Attempts

    def pop(self) -> QueuedPodInfo | None:
        """The next pod to try; it is in flight until `done`. If no pod is active, rejected pods are tried before their
        backoff ends, but not pods whose attempt met an error, nor large pods whose attempt was costly.

        A batch is not in flight, and stays until the caller refuses it (`refuse_batch`) or has taken all its pods
        (`pop_first`)."""
        while True:
            if self._batches and (batch := self._next_batch()) is not None:
                return batch
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
                continue
            del self._infos[uid]
            info.attempts += 1
            info.cost = 0.0
            if uid not in self._in_flight:
                self._in_flight.enter(info)
                return info
            log.error(
                None,
                "The same pod is tracked in multiple places in the scheduler, and just discard it",
                pod=logs.ref(info.pod),
            )

    def _next_batch(self) -> RefusedBatch | None:
        """The batch whose pods are next. While a namespace may have to wait, batches are dissolved: until a single pod
        is next, since the pods of a batch may be younger than the next batch."""
        while isinstance(unit := self._active.peek() or self._backoff.rejected.peek(), RefusedBatch):
            if not self._charged:
                return unit
            self.separate(unit.first.pod.uid)
        return None

    def pop_first(self, batch: RefusedBatch) -> QueuedPodInfo:
        """The first pod of a batch that is next, like `pop`."""
        info, from_backoff = batch.first, batch.sub_queue is not self._active
        batch.discard(info)
        if from_backoff:
            self._entered(info, "active", POP_FROM_BACKOFF)
        del self._infos[info.pod.uid]
        info.attempts += 1
        self._in_flight.enter(info)
        return info

    def refuse_batch(self, batch: RefusedBatch) -> None:
        """Requeue a batch that is next, after all its pods were tried and refused with the same message as before."""
        if batch.sub_queue is not self._active:
            self._entered(batch, "active", POP_FROM_BACKOFF)
        _discard(batch)
        self._put_unschedulable(batch, SCHEDULE_ATTEMPT_FAILURE)
        before = self._unschedulable.before(batch)
        if isinstance(before, RefusedBatch) and self._belong_together(before, batch):
            self._unschedulable.discard(batch)
            del self._batches[batch.pod.uid]
            before.absorb(batch)

    def add_unschedulable(self, info: QueuedPodInfo, refusal: str = "", *, has_condition: bool = False) -> bool:
        """Requeue a pod after a failed attempt; `done` has to follow. The caller has set its current pod and the
        rejecting plugins. False if the pod is queued already.

        `refusal` is the message of a refusal that equal pods share, and `has_condition` whether the pod's condition
        has it: then the pod may join a batch."""
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
        info.refusal, info.has_condition = refusal, has_condition
        waits = not self._requeue(info, self._strategy_after_attempt(info), SCHEDULE_ATTEMPT_FAILURE)
        if waits and self._may_join(info):
            before = self._unschedulable.before(info)
            if isinstance(before, RefusedBatch) and self._belong_together(before, info):
                self._unschedulable.discard(info)
                before.append(info)
            else:
                self._unschedulable.split(info, [self._begin_batch(info)])
        return True

    def condition_changed(self, uid: str, message: str) -> None:
        """The condition of a queued pod has another message, or is confirmed to have the message of a refusal."""
        info = self._infos.get(uid)
        if info is None:
            return
        if isinstance(info.sub_queue, RefusedBatch) and message != info.sub_queue.refusal:
            self.separate(uid)
        info.has_condition = message == info.refusal

    def _may_join(self, info: QueuedPodInfo) -> bool:
        may_join = self._joins_refused and info.has_condition and not info.gated and not info.was_flushed
        return may_join and bool(info.refusal)

    def _belong_together(self, batch: RefusedBatch, later: QueuedPodInfo) -> bool:
        """Whether a pod or batch of the same group that was refused right after a batch belongs to it.

        While writes are slow, few pods are refused at a time. A pod that joins a batch is tried with it the next time,
        before pods of other templates and the same priority that were refused in between."""
        return (
            0 <= later.timestamp - batch.timestamp <= self._join_seconds
            and batch.refusal == later.refusal
            and batch.pod.template is later.pod.template
            and batch.unschedulable_plugins == later.unschedulable_plugins
            and (
                batch.unschedulable_count == later.unschedulable_count
                or (self._backoff.is_longest(batch) and self._backoff.is_longest(later))
            )
            and self._backoff.expiration(batch) == self._backoff.expiration(later)
        )

    def _begin_batch(self, info: QueuedPodInfo) -> RefusedBatch:
        batch = RefusedBatch(next(self._batch_numbers), info, self._on_repeated, self._batch_emptied)
        self._batches[batch.pod.uid] = batch
        return batch

    def _joined(self, infos: list[QueuedPodInfo]) -> list[QueuedPodInfo]:
        """Join unschedulable pods, in the order of their groups, whose conditions were confirmed since then."""
        joined: list[QueuedPodInfo] = []
        for info in infos:
            before = joined[-1] if joined else None
            if isinstance(info, RefusedBatch) or not self._may_join(info):
                joined.append(info)
            elif isinstance(before, RefusedBatch) and self._belong_together(before, info):
                self._unschedulable.discard(info)
                before.append(info)
            else:
                batch = self._begin_batch(info)
                self._unschedulable.split(info, [batch])
                joined.append(batch)
        return joined

    def _batch_emptied(self, batch: RefusedBatch) -> None:
        del self._batches[batch.pod.uid]
        _discard(batch)

    def done(self, uid: str) -> None:
        """The pod is no longer in flight: it was requeued, or is being bound. Does nothing if it was not in flight."""
        self._in_flight.leave(uid)

    def separate(self, uid: str) -> None:
        """Dissolve the batch that the pod belongs to, if any: its pods may no longer be equal."""
        info = self._infos.get(uid)
        batch = None if info is None else info.sub_queue
        if not isinstance(batch, RefusedBatch):
            return
        del self._batches[batch.pod.uid]
        infos, holder, ticket = list(batch.up_to_date()), batch.sub_queue, batch.ticket
        if isinstance(holder, PodHeap):
            holder.discard(batch)
            for number, each in enumerate(infos):
                holder.push(each, ticket + (number + 1) / (len(infos) + 1))
        else:
            self._unschedulable.split(batch, infos)

    def separate_all(self) -> None:
        """Dissolve all batches."""
        for batch in list(self._batches.values()):
            self.separate(batch.first.pod.uid)

    def bring_up_to_date(self, uid: str) -> None:
        """Add the refusals of the pod's batch, if any, to its counters."""
        info = self._infos.get(uid)
        if info is not None and isinstance(info.sub_queue, RefusedBatch):
            info.sub_queue.bring_up_to_date(info)

    def charge(self, namespace: str, seconds: float) -> float:
        """The attempt of the pod popped last was expensive; returns how long pods of its namespace have to wait."""
        return self._throttle.charge(namespace, seconds, self._clock())

    def note_cost(self, info: QueuedPodInfo, seconds: float) -> None:
        """The attempt of a large pod took this long."""
        if self._throttle.limits:
            info.cost = seconds

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
            elif self._holder(info) is not self._active:
                self.separate(pod.uid)
                self._activate(info, FORCE_ACTIVATE, run_pre_enqueue=info.sub_queue is self._unschedulable)

    def activate_spared(self, circuit: Hashable, limit: int | None = None) -> None:
        """Move the pods whose last attempt ended for this circuit, or some of them, to the active queue."""
        waiting = chain(self._backoff.not_early, self._unschedulable)
        spared = (info.pod for info in waiting if info.spared == (circuit, info.attempts))
        self.activate(list(islice(spared, limit)))

    def move(self, event: ClusterEvent, old: Any, new: Any, pre_check: Callable[[Pod], bool] | None = None) -> None:
        """MoveAllToActiveOrBackoffQueue: requeue the unschedulable pods that the event may make schedulable. Old and
        new are `Pod`s or API structs; `pre_check` excludes pods that the event does not concern."""
        if not self._unschedulable and not self._in_flight:
            return
        if event.wildcard:
            infos = self._unschedulable.by_group()
        else:
            interested = self._plugins_interested(event)
            if not interested:
                return
            infos = self._unschedulable.rejected_by(interested)
        if pre_check is not None:
            infos = [info for info in infos if pre_check(info.pod)]
        self._wake(self._joined(infos), event, old, new)

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
        for batch in [batch for batch in self._batches.values() if batch.sub_queue is self._unschedulable]:
            if now - batch.waiting_since > self._unschedulable_timeout:
                self.separate(batch.first.pod.uid)
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

    def place_of(self, uid: str) -> tuple[str, QueuedPodInfo] | None:
        """(the view that holds the pod, or `in_flight`; the pod); None for an unknown pod."""
        info = self._infos.get(uid)
        if info is None:
            found = next((info for info in self._in_flight if info.pod.uid == uid), None)
            return None if found is None else ("in_flight", found)
        self.bring_up_to_date(uid)
        holder = self._holder(info)
        if holder is self._unschedulable:
            return "gated" if info.gated else "unschedulable", info
        if holder is self._active:
            return "active", info
        if holder is self._backoff.rejected or holder is self._backoff.not_early:
            return "backoff" if info.rejected else "error_backoff", info
        return "throttled", info

    def retry_deadline(self, info: QueuedPodInfo) -> float:
        """When the unschedulable timeout requeues an unschedulable pod."""
        late = info.waiting_since + self._unschedulable_timeout - self._next_flush
        return self._next_flush + FLUSH_INTERVAL_SECONDS * max(floor(late / FLUSH_INTERVAL_SECONDS) + 1, 0)

    def waking_events(self, info: QueuedPodInfo, plugin: str) -> list[ClusterEvent]:
        """The events that a plugin of the pod's profile registered."""
        table = self._hints.get(info.pod.spec.scheduler_name)
        return [] if table is None else table.events_of(plugin)

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
            self._entered(info, "active", label)
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
        """Requeue a pod or a batch by a strategy; False if it stays unschedulable."""
        if strategy is QueueingStrategy.Skip:
            self._put_unschedulable(info, label)
            return False
        if strategy is QueueingStrategy.AfterBackoff and self._backoff.holds(info):
            return self._back_off(info, label)
        return self._activate(info, label, run_pre_enqueue=True)

    def _wake(self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any) -> None:
        if not event.wildcard:
            infos = [info for info in infos if not info.gated or self._may_ungate(info, event)]
        label = event.label if infos else ""
        for info, strategy in zip(infos, self._strategies(infos, event, old, new), strict=True):
            if strategy is not QueueingStrategy.Skip:
                self._unschedulable.discard(info)
                self._requeue(info, strategy, label)
        if self._in_flight:
            self._in_flight.record(event, old, new)

    def _may_ungate(self, info: QueuedPodInfo, event: ClusterEvent) -> bool:
        table = self._hints.get(info.pod.spec.scheduler_name)
        return table is not None and table.is_registered(info.gating_plugin, event)

    def _strategies(
        self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any
    ) -> Sequence[QueueingStrategy]:
        """How to requeue each of the pods."""
        profiles: dict[str, list[QueuedPodInfo]] = {}
        for info in infos:
            profiles.setdefault(info.pod.template.spec.scheduler_name, []).append(info)
        if len(profiles) > 1:
            found = {
                id(info): strategy
                for of_profile in profiles.values()
                for info, strategy in zip(of_profile, self._strategies(of_profile, event, old, new), strict=True)
            }
            return [found[id(info)] for info in infos]
        table = next((self._hints.get(name) for name in profiles), None)
        if table is None:
            return [QueueingStrategy.AfterBackoff] * len(infos)
        return table.strategies(infos, event, old, new)

    def _strategy(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        return self._strategies([info], event, old, new)[0]

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
        if isinstance(info, RefusedBatch):
            if self._on_enter_together is not None:
                self._on_enter_together(info.members.values(), queue, label)
        elif self._on_enter is not None:
            self._on_enter(info, queue, label)

    def _holder(self, info: QueuedPodInfo) -> object:
        """The sub-queue that holds the pod, by itself or in a batch."""
        return info.sub_queue.sub_queue if isinstance(info.sub_queue, RefusedBatch) else info.sub_queue


def _stays_equal(old: Pod, new: Pod) -> bool:
    """Whether the pod is equal to the pods of its batch after an update."""
    return new.template is old.template and not (new.terminating or new.nominated_node_name or new.node_name)


def _discard(info: QueuedPodInfo) -> None:
    if info.sub_queue is not None:
        info.sub_queue.discard(info)
