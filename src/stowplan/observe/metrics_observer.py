"""Observer of an engine that feeds metrics and writes log lines.

While pods are scheduled, only times are recorded; they are counted at each scrape, or once enough have accumulated.
Counting runs on the scraping thread or on the loop's, under a lock that is held for nothing else.

Upstream: pkg/scheduler/metrics/metrics.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

from stowplan import api
from stowplan.engine import Observer
from stowplan.framework import Code, Plugin, Pod, PodGroupInfo, QueuedPodInfo, Status
from stowplan.framework.points import POINTS
from stowplan.observe import log_lines
from stowplan.observe.attempt_metrics import (
    BROKEN,
    ERROR,
    PREEMPTION,
    SAMPLED_EVERY_NTH,
    SCHEDULED,
    UNSCHEDULABLE,
    AttemptMetrics,
    DecidedAttempt,
    EndedAttempt,
)
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.series import Tally, take
from stowplan.queue import RefusedBatch
from stowplan.runtime import Decision, Profile
from stowplan.runtime.groups import GroupDecision

_COUNT_AFTER_ATTEMPTS = 1024
"""Attempts that are counted at once without a scrape."""

_WITHOUT_PRE_ENQUEUE = ("BackoffComplete", "PopFromBackoffQ", "NamespaceThrottled")
"""Events that move pods between queues without running PreEnqueue."""
_ARRIVALS = ("UnschedulablePodAdd", "UnschedulablePodUpdate")

_BINDING_POINTS = {
    step.go_name: point.methods[0] for point in POINTS if point.phase == "binding" for step in point.steps
}
"""Points after a decision, with the field of BindingPoints that holds their plugins."""

_PLACEMENT_POINTS = frozenset(point.go_name for point in POINTS if point.phase == "placement")

_log = log_lines.log


class _PreEnqueueRun(NamedTuple):
    """One timed run of PreEnqueue."""

    profile: str
    status: Status | None
    seconds: float


class MetricsObserver(Observer):
    """Shares the engine's clock."""

    def __init__(self, metrics: SchedulerMetrics, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._clock = clock
        self._began = 0.0
        self._group_began = 0.0
        """Start of the pod group cycle under way, which is that of the attempts of its members."""
        self._decided: dict[str, DecidedAttempt] = {}
        """Attempts by pod uid that are decided and not over."""
        self._uncounted = 0
        self._profiles: dict[str, Profile] = {}
        self._attempt_metrics: dict[tuple[str, frozenset[str], bool, bool], AttemptMetrics] = {}
        self._later: list[tuple[Callable[[float], None], float]] = []
        """Rare values to count: the function and its argument."""
        self._untimed_bindings = 0
        """Bindings to skip before one is timed."""
        self._point_runs: dict[tuple[str, str], int] = {}
        """Runs of points after a decision, by point and status."""
        self._pre_enqueue_runs: list[_PreEnqueueRun] = []
        self._pre_enqueue_seconds = 0.0
        """Recent average."""
        self._queued: Tally[tuple[str, str, str]] = Tally()
        """Pods by profile, queue and event."""
        self._events: Tally[str] = Tally()
        self._event_seconds = 0.0
        """Seconds of event handling that are not counted yet."""
        self._preemptions: dict[str, float] = {}
        """Start times by the preemptor's uid."""
        self._expensive_attempts = log_lines.ExpensiveAttempts(clock)
        self._counting = Lock()
        metrics.registry.before_scrape(self.count)

    def announce(self, profiles: Iterable[Profile]) -> None:
        """Create the series of all plugins before the first pod."""
        for profile in profiles:
            self._profiles[profile.name] = profile
            self._metrics_of(profile, frozenset(), True, False).announce(self._metrics)

    # Cycles
    def attempt_started(self, queued: QueuedPodInfo) -> None:
        self._began = self._clock()
        if _log.verbosity >= 3:
            log_lines.attempt_started(queued)

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        now = self._clock()
        began, self._began = self._began or now, self._group_began
        metrics: AttemptMetrics | None = decision.pod.template.derived.get(self)
        if metrics is None:
            metrics = self._metrics_for(decision)
        post_filter = "" if decision.node_name else self._post_filter(decision)
        attempt = DecidedAttempt(began, now, metrics, decision.evaluated, decision.feasible, post_filter)
        self._decided[queued.pod.uid] = attempt
        if _log.verbosity >= 3:
            log_lines.decided(queued, decision)
        if now - began > log_lines.SLOW_CYCLE_SECONDS:
            log_lines.slow_cycle(decision, now - began)

    def group_attempt_started(self, group: PodGroupInfo, queued: Sequence[QueuedPodInfo]) -> None:
        self._group_began = self._began = self._clock()

    def group_decided(self, decision: GroupDecision) -> None:
        if self._metrics.groups is not None:
            seconds = self._clock() - self._group_began
            self._later.append((self._metrics.groups.algorithm_duration.series().observe, seconds))
        self._placements_tried(decision)
        log_lines.group_decided(decision)

    def _placements_tried(self, decision: GroupDecision) -> None:
        """The durations of the points of placements, and of every call of their plugins."""
        profile = decision.group.members[0].template.spec.scheduler_name
        durations: dict[tuple[str, str], float] = {}
        for run in () if decision.search is None else decision.search.runs:
            code = _code(run.status)
            self._later.append((self._metrics.plugin_duration.series(run.plugin, run.point, code).observe, run.seconds))
            if run.point in _PLACEMENT_POINTS:
                durations[run.point, code] = durations.get((run.point, code), 0.0) + run.seconds
        for (point, code), seconds in durations.items():
            self._later.append((self._metrics.point_duration.series(point, code, profile).observe, seconds))

    def group_attempt_ended(self, group: PodGroupInfo, result: str, profile: str) -> None:
        seconds = self._clock() - self._group_began
        self._group_began = self._began = 0.0
        if self._metrics.groups is not None:
            self._later.append((self._metrics.groups.attempts.series(result, profile).add, 1.0))
            self._later.append((self._metrics.groups.attempt_duration.series(result, profile).observe, seconds))

    def attempt_expensive(self, queued: QueuedPodInfo, seconds: float, waits: float) -> None:
        profile = queued.pod.template.spec.scheduler_name
        self._later.append((self._metrics.expensive_attempts.series(profile).add, 1.0))
        self._later.append((self._metrics.expensive_seconds.series(profile).add, seconds))
        self._expensive_attempts.report(queued, seconds, waits)

    def bind_started(self, queued: QueuedPodInfo, node_name: str) -> None:
        if self._untimed_bindings:
            self._untimed_bindings -= 1
        else:
            self._time_binding(queued)
        if _log.verbosity >= 3:
            log_lines.bind_started(queued, node_name)

    def _time_binding(self, queued: QueuedPodInfo) -> None:
        attempt = self._decided.get(queued.pod.uid)
        if attempt is not None and attempt.metrics.straight:
            attempt.metrics.until_binding.append(self._clock() - attempt.decided)
            self._untimed_bindings = SAMPLED_EVERY_NTH - 1

    def bound(self, queued: QueuedPodInfo, node_name: str) -> None:
        attempt = self._decided.pop(queued.pod.uid, None)
        if attempt is None:
            return
        began, decided, metrics, evaluated, feasible, _ = attempt
        now = self._clock()
        ready = queued.initial_attempt_timestamp
        if ready is None:
            ready = began
        metrics.ended[SCHEDULED].append(
            EndedAttempt(began, decided, evaluated, feasible, "", now, ready, queued.attempts, queued.was_flushed)
        )
        if _log.verbosity >= 2:
            log_lines.bound(queued, node_name, evaluated, feasible)
        self._uncounted += 1
        if self._uncounted >= _COUNT_AFTER_ATTEMPTS:
            self._try_to_count()

    def attempt_failed(self, queued: QueuedPodInfo, status: Status) -> None:
        log_lines.attempt_failed(queued, status)
        attempt = self._decided.pop(queued.pod.uid, None)
        if attempt is None:
            return
        began, decided, metrics, evaluated, feasible, post_filter = attempt
        result, now = UNSCHEDULABLE if status.rejected else ERROR if feasible else BROKEN, self._clock()
        metrics.ended[result].append(
            EndedAttempt(began, decided, evaluated, feasible, post_filter, now, began, queued.attempts, False)
        )
        self._uncounted += 1
        if self._uncounted >= _COUNT_AFTER_ATTEMPTS:
            self._try_to_count()

    def refused_together(self, batch: RefusedBatch, decision: Decision, status: Status) -> None:
        if _log.verbosity >= 2:
            super().refused_together(batch, decision, status)
            return
        number = len(batch)
        metrics: AttemptMetrics = decision.pod.template.derived.get(self) or self._metrics_for(decision)
        metrics.repeated[decision.evaluated, self._post_filter(decision, number)] += number

    def pods_queued(self, queued: Collection[QueuedPodInfo], queue: str, event: str) -> None:
        if _log.verbosity >= 3:
            super().pods_queued(queued, queue, event)
            return
        profile = next(iter(queued)).pod.template.spec.scheduler_name
        self._queued[profile, queue, event] = self._queued.get((profile, queue, event), 0) + len(queued)

    def point_ran(self, queued: QueuedPodInfo, point: str, status: Status | None, seconds: float) -> None:
        profile = queued.pod.template.spec.scheduler_name
        code = _code(status)
        self._later.append((self._metrics.point_duration.series(point, code, profile).observe, seconds))
        times = self._point_runs.get((point, code), 0)
        self._point_runs[point, code] = times + 1
        if profile in self._profiles and not times % SAMPLED_EVERY_NTH:
            plugins = getattr(self._profiles[profile].binding_points(queued.pod.template), _BINDING_POINTS[point])
            self._share(plugins, point, status, seconds)

    def permit_wait_ended(self, queued: QueuedPodInfo, status: Status | None, seconds: float) -> None:
        self._later.append((self._metrics.permit_wait.series(_code(status)).observe, seconds))

    def _share(self, plugins: Sequence[Plugin], point: str, status: Status | None, seconds: float) -> None:
        """Split the duration of a point evenly among its plugins; a plugin that stopped the pod gets all of it."""
        names = [status.plugin] if status is not None and status.plugin else [plugin.name for plugin in plugins]
        for name in names:
            series = self._metrics.plugin_duration.series(name, point, _code(status))
            self._later.append((series.observe, seconds / len(names)))

    # The queue
    def event_received(self, event: str, about: Any = None) -> None:
        self._events[event] = self._events.get(event, 0) + 1
        if _log.verbosity >= 3:
            log_lines.event_received(event, about)

    def node_updated(self, node: api.Node) -> None:
        if _log.verbosity >= 4:
            log_lines.node_updated(node)

    def pre_enqueue_ran(self, pod: Pod, status: Status | None, seconds: float) -> None:
        self._pre_enqueue_runs.append(_PreEnqueueRun(pod.template.spec.scheduler_name, status, seconds))

    def events_handled(self, seconds: float) -> None:
        """The events since the last call took this long to handle."""
        self._event_seconds += seconds

    def pod_queued(self, queued: QueuedPodInfo, queue: str, event: str) -> None:
        key = (queued.pod.template.spec.scheduler_name, queue, event)
        self._queued[key] = self._queued.get(key, 0) + 1
        if _log.verbosity >= 3:
            log_lines.pod_queued(queued, queue, event)

    def hint_returned(self, plugin: str, event: str, hint: str, seconds: float, times: int) -> None:
        series = self._metrics.hint_duration.series(plugin, event, hint)
        self._later.append((partial(series.observe, times=times), seconds))

    # Preemption
    def preemption_started(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        self._preemptions[preemptor.uid] = self._clock()
        self._later.append((self._metrics.victims.series().observe, float(len(victims))))
        log_lines.preemption_started(preemptor, node_name, len(victims))

    def victim_evicted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        log_lines.victim_evicted(preemptor, victim, node_name)

    def preemption_ended(self, preemptor: Pod, node_name: str, failed: bool) -> None:
        result, now = "error" if failed else "success", self._clock()
        began = self._preemptions.pop(preemptor.uid, now)
        self._later.append((self._metrics.preemption_duration.series(result).observe, now - began))
        self._later.append((self._metrics.preemptions.series(result).add, 1.0))
        log_lines.preemption_ended(preemptor, node_name, result)

    def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None:
        self._later.append((self._metrics.of_plugins[metric](*labels), value))

    def _post_filter(self, decision: Decision, times: int = 1) -> str:
        if decision.error is not None or not decision.profile.post_filters:
            return ""
        if any(plugin.name == PREEMPTION for plugin in decision.profile.post_filters):
            self._later.append((self._metrics.preemption_attempts.series().add, float(times)))
        return Code.Success.name if decision.nominated_node_name else Code.Unschedulable.name

    # Counting
    def count(self) -> None:
        """Count everything recorded since the last call."""
        with self._counting:
            self._count()

    def _try_to_count(self) -> None:
        """Count, unless the other thread is counting."""
        self._uncounted = 0
        if self._counting.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._counting.release()

    def _count(self) -> None:
        for metrics in list(self._attempt_metrics.values()):
            metrics.count(self._metrics)
        for count, value in take(self._later):
            count(value)
        self._count_pre_enqueue()
        self._count_queued()
        self._count_events()

    def _count_pre_enqueue(self) -> None:
        runs = take(self._pre_enqueue_runs)
        alike: dict[tuple[str, str, str], list[float]] = {}
        for name, status, seconds in runs:
            alike.setdefault((name, "" if status is None else status.plugin, _code(status)), []).append(seconds)
        for (name, rejected_by, code), times in alike.items():
            registered = self._profiles[name].pre_enqueues if name in self._profiles else ()
            plugins = [rejected_by] if rejected_by else [plugin.name for plugin in registered]
            for plugin in plugins:
                share = [seconds / len(plugins) for seconds in times]
                self._metrics.plugin_duration.series(plugin, "PreEnqueue", code).observe_many(share)
        if runs:
            self._pre_enqueue_seconds = sum(each.seconds for each in runs) / len(runs)

    def _count_queued(self) -> None:
        duration = self._metrics.point_duration
        for (profile, queue, event), number in self._queued.new().items():
            self._metrics.incoming.series(queue, event).add(number)
            if event not in _WITHOUT_PRE_ENQUEUE:
                duration.series("PreEnqueue", "Success", profile).observe(self._pre_enqueue_seconds, number)
            if event in _ARRIVALS:
                duration.series("Sign", "Success", profile).observe(0.0, number)

    def _count_events(self) -> None:
        events = self._events.new()
        seconds, self._event_seconds = self._event_seconds, 0.0
        each = seconds / max(sum(events.values()), 1)
        for event, number in events.items():
            self._metrics.event_duration.series(event).observe(each, number)

    def _metrics_for(self, decision: Decision) -> AttemptMetrics:
        profile, template = decision.profile, decision.pod.template
        unconcerned, points = profile.plugins_by_scope.of(template).unconcerned, profile.binding_points(template)
        metrics = self._metrics_of(profile, unconcerned, points.straight, bool(points.reserve))
        template.derived[self] = metrics
        return metrics

    def _metrics_of(
        self, profile: Profile, unconcerned: frozenset[str], straight: bool, reserves: bool
    ) -> AttemptMetrics:
        key = (profile.name, unconcerned, straight, reserves)
        metrics = self._attempt_metrics.get(key)
        if metrics is None:
            metrics = self._attempt_metrics[key] = AttemptMetrics(profile, unconcerned, straight, reserves)
        return metrics


def _code(status: Status | None) -> str:
    return Code.Success.name if status is None else status.code.name
