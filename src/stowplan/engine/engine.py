"""The engine's port.

Upstream: pkg/scheduler/scheduler.go
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar

from stowplan.cache import Cluster
from stowplan.config.feature_gates import GENERIC_WORKLOAD
from stowplan.config.options import Options
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.engine.attempt_history import AttemptHistory, FailedAttempts
from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.event_handlers import EventHandlers
from stowplan.engine.extender_outages import ExtenderOutages
from stowplan.engine.group_cycles import GroupSchedulingCycles
from stowplan.engine.group_event_handlers import GroupEventHandlers
from stowplan.engine.handle import EngineHandle
from stowplan.engine.observer import Observer
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import FailureHandler
from stowplan.engine.scheduling_cycle import SchedulingCycles
from stowplan.engine.state import SUB_QUEUES, Attempt, EngineState, PendingPod
from stowplan.framework import ALL_EVENTS, ClusterEvent, Instruction, Pod, QueuedPodInfo, Request, Status
from stowplan.framework.extender import CallExtender, Extender
from stowplan.framework.points import POINTS
from stowplan.queue import (
    CHARGED_ATTEMPT_SECONDS,
    EXPENSIVE_ATTEMPT_SECONDS,
    Nominator,
    PodGroupQueue,
    QueueingHintMap,
    SchedulingQueue,
)
from stowplan.runtime import Profile, Registry, build_profiles
from stowplan.runtime.decide.diagnosis import EXTENDER
from stowplan.runtime.points.waiting_pods import Defer, WaitingPods

T = TypeVar("T")

_TIMED_FIRST_CALLS, _TIMED_EVERY_NTH = 100, 10
"""PreEnqueue is timed for the first 100 calls and for one in ten after that, as in kube-scheduler."""


class Engine:
    """Events in, instructions out. State changes only during calls of its methods."""

    binding_cycles: type[BindingCycles] = BindingCycles

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        clock: Callable[[], float],
        rng: random.Random,
        wall_clock: Callable[[], float] | None = None,
        observer: Observer | None = None,
        unschedulable_timeout: float = Options.unschedulable_timeout,
        max_namespace_share: float = 0.0,
        join_seconds: float = 0.0,
        keep_objects: bool = False,
        keep_assigned_objects: bool = True,
        extenders: tuple[Extender, ...] = (),
        connection: Any = None,
    ) -> None:
        """`clock` drives timers and the queue; `wall_clock`, by default the same, gives timestamps for objects.

        `keep_objects` keeps raw objects for plugins that want them, those of assigned pods only with
        `keep_assigned_objects`. `connection` is the handle's connection to the API server. `max_namespace_share` limits
        the time of namespaces with expensive pods, as reported to `charge`; 0 and 1 set no limit. Equal pods that are
        refused within `join_seconds` of each other are tried together the next time.
        """
        cluster, nominator, observer = (
            Cluster(keep_objects=keep_objects, release=config.release),
            Nominator(),
            observer or Observer(),
        )
        state = EngineState(cluster, nominator, clock, wall_clock or clock, observer, keep_assigned_objects)
        self._state = state
        self._preemptions = Preemptions(state)
        profiles = state.profiles = build_profiles(
            config, registry, cluster, nominator, rng, extenders, partial(self._make_handle, connection)
        )
        make_queue = PodGroupQueue if config.release.has(GENERIC_WORKLOAD) else SchedulingQueue
        queue = state.queue = _queue(
            make_queue,
            config,
            profiles,
            nominator,
            state.queue_clock,
            unschedulable_timeout,
            max_namespace_share,
            join_seconds,
            observer,
            self._preemptions.holds,
            state.history,
        )
        failures = FailureHandler(state)
        self._bindings = self.binding_cycles(state, failures, self._preemptions)
        if isinstance(queue, PodGroupQueue):
            cycles = GroupSchedulingCycles(state, self._bindings, failures, self._preemptions, queue)
            self._cycles: SchedulingCycles = cycles
            self._handlers: EventHandlers = GroupEventHandlers(state, self._preemptions, queue, cycles.settle_gang)
        else:
            self._cycles = SchedulingCycles(state, self._bindings, failures, self._preemptions)
            self._handlers = EventHandlers(state, self._preemptions)
        self._outages = ExtenderOutages(state, self._cycles) if extenders else None
        self._held: deque[Callable[[], None]] = deque()
        state.deciding = False
        state.run_deferred()

    def _make_handle(self, connection: Any, profile_name: str) -> EngineHandle:
        return EngineHandle(profile_name, self._state, self._preemptions, connection)

    def marshal_through(self, run_on_engine_thread: Defer) -> None:
        """Sets how actions of plugins on other threads reach the engine's thread; by default they run at once."""
        self._state.marshal = run_on_engine_thread

    # Input
    def put(self, item: Any, whole: Any = None) -> None:
        """An object was added or updated; `whole` is its raw JSON, for plugins that want it."""
        if self._cycles.suspended:
            self._held.append(partial(self._handlers.put, item, whole))
        else:
            self._handlers.put(item, whole)

    def remove(self, item: Any) -> None:
        """An object was deleted."""
        if self._cycles.suspended:
            self._held.append(partial(self._handlers.remove, item))
        else:
            self._handlers.remove(item)

    def tick(self) -> None:
        """Runs timers that are due."""
        if self._cycles.suspended:
            return
        self._state.timers.run_due()
        self._state.queue.tick()

    def answer(self, request: Request, outcome: Any) -> None:
        """The outcome of a request; a Failure if it was not carried out."""
        if self._outages is not None and isinstance(request, CallExtender):
            self._outages.answered(request, outcome)
        if not self._cycles.suspended:
            request.on_answer(outcome)
        elif isinstance(request, CallExtender) and request.verb != "bind":
            began = self._state.clock()
            request.on_answer(outcome)
            self.charge(self._state.clock() - began)
            self._release()
        else:
            self._held.append(partial(request.on_answer, outcome))

    def _release(self) -> None:
        """Handle input held back while the cycle was suspended, unless it called another extender."""
        while self._held and not self._cycles.suspended:
            self._held.popleft()()

    # Work and output
    def schedule_one(self) -> bool:
        """Runs one scheduling cycle, or the cycles of equal pods that are refused together; False if no pod is ready,
        or while a cycle is suspended."""
        return not self._cycles.suspended and self._cycles.run_one()

    def free_unused(self) -> None:
        """Free entries of deleted pods in tables that are otherwise swept when they have doubled."""
        self._state.history.retain(self._state.pending)
        self._state.cluster.free_unused()

    def hold_time(self) -> None:
        """The queue's time stands still until `release_time`: cycles of a slice happen at the same time, so that equal
        pods which they refuse stay together."""
        self._state.queue_clock.hold()

    def release_time(self) -> None:
        self._state.queue_clock.release()

    def status_not_written(self, uid: str) -> None:
        """A patch of a pod's status failed for good: the next failed attempt requests it again."""
        known = self._state.pending.get(uid)
        if known is not None:
            known.requested = None
            self._state.queue.condition_changed(uid, known.refusal)

    def charge(self, seconds: float) -> None:
        """The last scheduling cycle took this long. Costly ones are charged to the namespace of the pod."""
        queued = self._cycles.last
        if seconds >= CHARGED_ATTEMPT_SECONDS and queued is not None:
            waits = self._state.queue.charge(queued.pod.namespace, seconds)
            if queued.pod.template.large:
                self._state.queue.note_cost(queued, seconds)
            if seconds >= EXPENSIVE_ATTEMPT_SECONDS:
                self._state.observer.attempt_expensive(queued, seconds, waits)

    def examine(self, run: Callable[[], T]) -> T:
        """Runs plugins outside a scheduling cycle, for an explanation; actions that they request run afterwards."""
        state = self._state
        state.deciding = True
        try:
            return run()
        finally:
            state.deciding = False
            if state.deferred:
                state.run_deferred()

    def take(self) -> list[Instruction]:
        """The instructions issued since the last call, in order."""
        outbox = self._state.outbox
        taken = outbox.copy()
        outbox.clear()
        return taken

    # Read-only views
    @property
    def cycles(self) -> int:
        """The number of scheduling cycles so far."""
        return self._state.cycle

    @property
    def suspended(self) -> bool:
        """Whether a cycle waits for an extender's answer; until then, all other input is held back."""
        return self._cycles.suspended

    def next_deadline(self) -> float | None:
        """When `tick` has something to do next, if nothing else happens."""
        timer, queue = self._state.timers.next_deadline(), self._state.queue.next_deadline()
        if timer is None or queue is None:
            return queue if timer is None else timer
        return min(timer, queue)

    @property
    def waits_for_time(self) -> bool:
        """Whether a timer is set, a pod backs off after an error, or is throttled: progress that needs no event."""
        state = self._state
        return state.timers.next_deadline() is not None or any(
            next(pods, None) is not None for pods in (state.queue.error_backoff, state.queue.throttled)
        )

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """By schedulerName."""
        return self._state.profiles

    def plugin_bugs(self) -> dict[str, str]:
        """The first bug of each plugin that has shown one, by the plugin's name."""
        return {name: bug for profile in self.profiles.values() for name, bug in profile.plugin_bugs().items()}

    @property
    def cluster(self) -> Cluster:
        """The cache of nodes, assigned and assumed pods, and other objects."""
        return self._state.cluster

    @property
    def pending(self) -> Mapping[str, PendingPod]:
        """Unassigned pods of our profiles by uid, until they are reported as bound."""
        return self._state.pending

    def resource_version(self, pod: Pod) -> str:
        """The last seen resourceVersion of a pending pod; empty if the pod is no longer pending."""
        known = self._state.pending.get(pod.uid)
        return "" if known is None else known.resource_version

    @property
    def attempts(self) -> Mapping[str, Attempt]:
        """Assumed pods by uid whose binding is under way."""
        return self._state.attempts

    @property
    def waiting_pods(self) -> WaitingPods:
        """Pods that wait on Permit."""
        return self._state.waiting_pods

    def queue_counts(self) -> dict[str, int]:
        """Number of queued pods: active, backoff, unschedulable and gated."""
        return self._state.queue.counts()

    def queued_pods(self, *sub_queues: str) -> Iterator[QueuedPodInfo]:
        """Pods in the named sub-queues, by default in all."""
        return chain.from_iterable(getattr(self._state.queue, name) for name in sub_queues or SUB_QUEUES)

    def next_to_pop(self, count: int) -> list[QueuedPodInfo]:
        """The first pods of the active queue."""
        return self._state.queue.next_to_pop(count)

    def next_to_return(self, count: int) -> list[QueuedPodInfo]:
        """The first pods in backoff, in the order in which their backoff ends."""
        return self._state.queue.next_to_return(count)

    def queue_place(self, uid: str) -> tuple[str, QueuedPodInfo] | None:
        """(the name of the sub-queue, or `in_flight`; the pod)."""
        return self._state.queue.place_of(uid)

    def retry_deadline(self, info: QueuedPodInfo) -> float:
        """When the unschedulable timeout requeues a pod of the sub-queue `unschedulable`."""
        return self._state.queue.retry_deadline(info)

    def failed_attempts(self, uid: str) -> Sequence[FailedAttempts]:
        """The last failed attempts of a pod, the oldest first."""
        self._state.queue.bring_up_to_date(uid)
        return self._state.history.of(uid)

    def waking_events(self, info: QueuedPodInfo, plugin: str) -> list[ClusterEvent]:
        """The events for which a plugin of the pod's profile registered."""
        return self._state.queue.waking_events(info, plugin)

    @property
    def in_flight(self) -> Iterator[QueuedPodInfo]:
        """Pods whose scheduling cycle is not over, in the order in which they were popped."""
        return self._state.queue.in_flight_pods

    def nominated_pods(self, node_name: str) -> Collection[Pod]:
        """Pending pods nominated to the node."""
        return self._state.nominator.on_node(node_name)

    @property
    def preemptors(self) -> Collection[str]:
        """The uids of pods for which evictions are under way."""
        return self._preemptions.preemptors


def _queue(
    make: type[SchedulingQueue],
    config: KubeSchedulerConfiguration,
    profiles: Mapping[str, Profile],
    nominator: Nominator,
    clock: Callable[[], float],
    unschedulable_timeout: float,
    max_namespace_share: float,
    join_seconds: float,
    observer: Observer,
    is_held: Callable[[QueuedPodInfo], bool],
    history: AttemptHistory,
) -> SchedulingQueue:
    sort = next(iter(profiles.values())).points["queueSort"][0]
    return make(
        clock=clock,
        less=sort.less,
        sort_key=sort.current_sort_key(),
        pre_enqueue=_pre_enqueue(profiles, observer, clock),
        hints={name: _hints(profile, observer, clock) for name, profile in profiles.items()},
        nominator=nominator,
        initial_backoff=float(config.pod_initial_backoff_seconds),
        max_backoff=float(config.pod_max_backoff_seconds),
        unschedulable_timeout=unschedulable_timeout,
        max_namespace_share=max_namespace_share,
        join_seconds=join_seconds,
        is_held=is_held,
        on_enter=observer.pod_queued if _overrides(observer, "pod_queued") else None,
        on_enter_together=observer.pods_queued if _overrides(observer, "pod_queued") else None,
        on_repeated=lambda info, times: history.repeated(info.pod.uid, times, info.timestamp),
        joins_refused=sort.keeps_equal_pods_together(),
    )


def _pre_enqueue(
    profiles: Mapping[str, Profile], observer: Observer, clock: Callable[[], float]
) -> Callable[[Pod, str], Status | None]:
    def by_scheduler_name(pod: Pod, first: str) -> Status | None:
        return profiles[pod.template.spec.scheduler_name].pre_enqueue(pod, first)

    run = next(iter(profiles.values())).pre_enqueue if len(profiles) == 1 else by_scheduler_name
    if not _overrides(observer, "pre_enqueue_ran"):
        return run
    calls = count()

    def timed(pod: Pod, first: str) -> Status | None:
        number = next(calls)
        if number % _TIMED_EVERY_NTH and number >= _TIMED_FIRST_CALLS:
            return run(pod, first)
        began = clock()
        status = run(pod, first)
        observer.pre_enqueue_ran(pod, status, clock() - began)
        return status

    return timed


def _overrides(observer: Observer, method: str) -> bool:
    """Whether the observer implements the method; calls of the empty one are saved."""
    return getattr(type(observer), method) is not getattr(Observer, method)


def _hints(profile: Profile, observer: Observer, clock: Callable[[], float]) -> QueueingHintMap:
    registering = [point.name for point in POINTS if point.registers_events]
    plugins = {plugin.name: plugin for point in registering for plugin in profile.points[point]}
    registrations = {name: plugin.events_to_register() for name, plugin in plugins.items()}
    if profile.extenders:
        registrations[EXTENDER] = ALL_EVENTS
    return QueueingHintMap(
        registrations, observer.hint_returned if _overrides(observer, "hint_returned") else None, clock
    )
