"""The engine's port."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from itertools import count
from typing import Any

from stowplan.cache import Cluster
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.event_handlers import EventHandlers
from stowplan.engine.invariants import Invariants
from stowplan.engine.observer import Observer
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import FailureHandler
from stowplan.engine.scheduling_cycle import SchedulingCycles
from stowplan.engine.state import EngineState
from stowplan.framework import ALL_EVENTS, EmitEvent, Instruction, Pod, Request, Status
from stowplan.framework.extender import CallExtender, Extender
from stowplan.queue import HintTable, Nominator, SchedulingQueue, sort_key_of
from stowplan.runtime import Profile, Registry, build_profiles
from stowplan.runtime.decide.diagnosis import EXTENDER
from stowplan.runtime.points.waiting_pods import WaitingPods

_HEARD_BY = ("preEnqueue", "preFilter", "filter", "reserve", "permit")
"""The points whose plugins can keep a pod waiting, and so want to hear of events."""

_CHANGING = ("put", "remove", "tick", "answer", "schedule_one")
"""The calls in which something happens."""

_TIMED_AT_FIRST, _TIMED_EVERY = 100, 10
"""So many questions at PreEnqueue are timed, and after that one in so many, as in kube-scheduler."""

UNSCHEDULABLE_TIMEOUT = 300.0


class Engine:
    """Events in, instructions out. All of it happens in the calls; in between nothing moves."""

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        clock: Callable[[], float],
        rng: random.Random,
        observer: Observer | None = None,
        unschedulable_timeout: float = UNSCHEDULABLE_TIMEOUT,
        keep_objects: bool = False,
        extenders: tuple[Extender, ...] = (),
        check_invariants: bool = False,
    ) -> None:
        cluster, nominator = Cluster(keep_objects=keep_objects), Nominator()
        profiles = build_profiles(config, registry, cluster, nominator, rng, extenders)
        observer = observer or Observer()
        queue = _queue(config, profiles, nominator, clock, unschedulable_timeout, observer)
        self.core = core = EngineState(cluster, nominator, profiles, queue, clock, observer)
        failures = FailureHandler(core)
        self._preemptions = Preemptions(core)
        bindings = BindingCycles(core, failures, self._preemptions)
        self._cycles = SchedulingCycles(core, bindings, failures, self._preemptions)
        self._intake = EventHandlers(core)
        self._held: deque[Callable[[], None]] = deque()
        self.invariants: Invariants | None = None
        if check_invariants:
            self._check_after_every_call()
        for profile in profiles.values():
            if profile.handle is not None:
                profile.handle.attach(self)

    def _check_after_every_call(self) -> None:
        self.invariants = self.core.observer = Invariants(self.core)
        for name in _CHANGING:
            setattr(self, name, self.invariants.after(getattr(self, name), lambda: self.suspended))

    @property
    def suspended(self) -> bool:
        """Whether a cycle waits for an extender's answer; until it comes, all else is held back."""
        return self._cycles.suspended

    # What a host tells
    def put(self, item: Any, whole: Any = None) -> None:
        """An object was added or changed; `whole` is all of its JSON, for plugins that want it."""
        if self._cycles.suspended:
            self._held.append(partial(self._intake.put, item, whole))
        else:
            self._intake.put(item, whole)

    def remove(self, item: Any) -> None:
        """An object is gone."""
        if self._cycles.suspended:
            self._held.append(partial(self._intake.remove, item))
        else:
            self._intake.remove(item)

    def tick(self) -> None:
        """Time has passed."""
        if self._cycles.suspended:
            return
        self.core.timers.run_due()
        self.core.queue.tick()

    def next_deadline(self) -> float | None:
        """When `tick` has something to do next, if nothing else happens."""
        deadlines = (self.core.timers.next_deadline(), self.core.queue.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def answer(self, request: Request, outcome: Any) -> None:
        """What came of a request; a Failure where it was not fulfilled."""
        if not self._cycles.suspended:
            request.on_answer(outcome)
        elif isinstance(request, CallExtender) and request.verb != "bind":
            request.on_answer(outcome)
            self._release()
        else:
            self._held.append(partial(request.on_answer, outcome))

    def _release(self) -> None:
        """Take in what was held back while a cycle was suspended; it is over unless it asked again."""
        while self._held and not self._cycles.suspended:
            self._held.popleft()()

    # What a host lets happen
    def schedule_one(self) -> bool:
        """One scheduling cycle; False where no pod is ready for it, or one is suspended until an extender answers."""
        return not self._cycles.suspended and self._cycles.run_one()

    def take(self) -> list[Instruction]:
        """The instructions given since the last call, in order."""
        outbox = self.core.outbox
        taken = outbox.copy()
        outbox.clear()
        return taken

    def resource_version(self, pod: Pod) -> str:
        """The version of a pending pod that was seen last; empty where that is not known any more."""
        known = self.core.pending.get(pod.uid)
        return "" if known is None else known.resource_version

    # What plugins ask for
    @property
    def waiting_pods(self) -> WaitingPods:
        return self.core.waiting_pods

    def activate(self, pods: Mapping[str, Pod]) -> None:
        self.core.defer(lambda: self.core.queue.activate(list(pods.values())))

    def now(self) -> float:
        return self.core.wall()

    def emit(self, event: EmitEvent) -> None:
        self.core.defer(lambda: self.core.outbox.append(event))

    def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None:
        self.core.observer.measured(metric, labels, value)

    def start(self, steps: Coroutine[Request, Any, None]) -> None:
        self.core.defer(partial(self._start, steps))

    def _start(self, steps: Coroutine[Request, Any, None]) -> None:
        self.core.tasks.start(steps)

    @property
    def preempting(self) -> Collection[str]:
        """The uids of pods whose preemption may be under way; a live view."""
        return self._preemptions.preemptors

    def is_preempting(self, pod: Pod) -> bool:
        return self._preemptions.is_running(pod)


def _queue(
    config: KubeSchedulerConfiguration,
    profiles: Mapping[str, Profile],
    nominator: Nominator,
    clock: Callable[[], float],
    unschedulable_timeout: float,
    observer: Observer,
) -> SchedulingQueue:
    sort = next(iter(profiles.values())).points["queueSort"][0]
    return SchedulingQueue(
        clock=clock,
        less=sort.less,
        sort_key=sort_key_of(sort),
        pre_enqueue=_pre_enqueue(profiles, observer, clock),
        hints={name: _hints(profile, observer, clock) for name, profile in profiles.items()},
        nominator=nominator,
        initial_backoff=float(config.pod_initial_backoff_seconds),
        max_backoff=float(config.pod_max_backoff_seconds),
        unschedulable_timeout=unschedulable_timeout,
        on_enter=observer.entered if _overrides(observer, "entered") else None,
    )


def _pre_enqueue(
    profiles: Mapping[str, Profile], observer: Observer, clock: Callable[[], float]
) -> Callable[[Pod, str], Status | None]:
    def of_its_profile(pod: Pod, first: str) -> Status | None:
        return profiles[pod.template.spec.scheduler_name].pre_enqueue(pod, first)

    ask = next(iter(profiles.values())).pre_enqueue if len(profiles) == 1 else of_its_profile
    if not _overrides(observer, "enqueued"):
        return ask
    calls = count()

    def timed(pod: Pod, first: str) -> Status | None:
        number = next(calls)
        if number % _TIMED_EVERY and number >= _TIMED_AT_FIRST:
            return ask(pod, first)
        began = clock()
        status = ask(pod, first)
        observer.enqueued(pod, status, clock() - began)
        return status

    return timed


def _overrides(observer: Observer, method: str) -> bool:
    """Whether anybody listens."""
    return getattr(type(observer), method) is not getattr(Observer, method)


def _hints(profile: Profile, observer: Observer, clock: Callable[[], float]) -> HintTable:
    plugins = {plugin.name: plugin for point in _HEARD_BY for plugin in profile.points[point]}
    registrations = {name: plugin.events_to_register() for name, plugin in plugins.items()}
    if profile.extenders:
        registrations[EXTENDER] = ALL_EVENTS
    return HintTable(registrations, observer.hinted if _overrides(observer, "hinted") else None, clock)
