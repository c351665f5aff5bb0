"""What the engine does, told in metrics and log lines.

While pods flow, next to nothing is done: times are taken down, and counted when somebody scrapes or when there are
many. Counting happens on the thread that scrapes or on the loop's, under a lock that is held for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any

from stowplan import api
from stowplan.engine import Observer
from stowplan.framework import Code, Plugin, Pod, QueuedPodInfo, Status
from stowplan.framework.points import POINTS
from stowplan.observe import log_lines
from stowplan.observe.attempt_metrics import BROKEN, ERROR, EVERY, PREEMPTION, SCHEDULED, UNSCHEDULABLE, AttemptMetrics
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.runtime import Decision, Profile

_MANY = 1024
"""So many endings are counted at once where nobody scrapes."""

_NOT_ASKED = ("BackoffComplete", "PopFromBackoffQ")
"""Events that bring pods into a queue without PreEnqueue being asked again."""
_ARRIVALS = ("UnschedulablePodAdd", "UnschedulablePodUpdate")

_BINDING_POINTS = {
    step.go_name: point.methods[0] for point in POINTS if point.phase == "binding" for step in point.steps
}
"""Points after a decision, with the field of BindingPoints that holds their plugins."""

_log = log_lines.log

_Opened = tuple[float, float, AttemptMetrics, int, int, str]
"""An attempt that is decided: when it began, when it was decided, its course, nodes evaluated, nodes feasible, what
PostFilter came to."""


class MetricsObserver(Observer):
    """An observer of an engine, whose clock it shares."""

    def __init__(self, metrics: SchedulerMetrics, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._clock = clock
        self._began = 0.0
        self._opened: dict[str, _Opened] = {}
        self._uncounted = 0
        self._profiles: dict[str, Profile] = {}
        self._courses: dict[tuple[str, frozenset[str], bool, bool], AttemptMetrics] = {}
        self._later: list[tuple[Callable[[float], None], float]] = []
        """Rare things to count: what to call, and with what."""
        self._untimed = 0
        """So many bindings are not to be timed, then one is."""
        self._passed: dict[tuple[str, str], int] = {}
        """How often points after a decision came to what."""
        self._enqueued: list[tuple[str, Status | None, float]] = []
        """Where PreEnqueue was timed: the profile, what it came to, and the seconds."""
        self._enqueuing = 0.0
        """Seconds that it took lately, on average."""
        self._entered: dict[tuple[str, str, str], int] = {}
        self._heard: dict[str, int] = {}
        self._hearing = 0.0
        self._counted_entered: dict[tuple[str, str, str], int] = {}
        self._counted_heard: dict[str, int] = {}
        self._preemptions: dict[str, float] = {}
        self._counting = Lock()
        metrics.registry.before_scrape(self.count)

    def announce(self, profiles: Iterable[Profile]) -> None:
        """Tell of the plugins that there are, before anything happens."""
        for profile in profiles:
            self._profiles[profile.name] = profile
            self._course_of(profile, frozenset(), True, False).announce(self._metrics)

    # Cycles
    def attempt_started(self, unit: QueuedPodInfo) -> None:
        self._began = self._clock()
        if _log.verbosity >= 3:
            log_lines.attempting(unit)

    def decided(self, unit: QueuedPodInfo, decision: Decision) -> None:
        now = self._clock()
        began, self._began = self._began or now, 0.0
        course: AttemptMetrics | None = decision.pod.template.derived.get(self)
        if course is None:
            course = self._find_course(decision)
        post_filter = "" if decision.node_name else self._post_filter(decision)
        self._opened[unit.pod.uid] = (began, now, course, decision.evaluated, decision.feasible, post_filter)
        if _log.verbosity >= 3:
            log_lines.decided(unit, decision)
        if now - began > log_lines.SLOW:
            log_lines.slow(decision, now - began)

    def bind_started(self, unit: QueuedPodInfo, node_name: str) -> None:
        if self._untimed:
            self._untimed -= 1
        else:
            self._time_binding(unit)
        if _log.verbosity >= 3:
            log_lines.binding(unit, node_name)

    def _time_binding(self, unit: QueuedPodInfo) -> None:
        opened = self._opened.get(unit.pod.uid)
        if opened is not None and opened[2].straight:
            opened[2].between.append(self._clock() - opened[1])
            self._untimed = EVERY - 1

    def bound(self, unit: QueuedPodInfo, node_name: str) -> None:
        opened = self._opened.pop(unit.pod.uid, None)
        if opened is None:
            return
        began, decided, course, evaluated, feasible, _ = opened
        now = self._clock()
        ready = unit.initial_attempt_timestamp
        if ready is None:
            ready = began
        course.endings[SCHEDULED].append(
            (began, decided, evaluated, feasible, "", now, ready, unit.attempts, unit.was_flushed)
        )
        if _log.verbosity >= 2:
            log_lines.bound(unit, node_name, evaluated, feasible)
        self._uncounted += 1
        if self._uncounted >= _MANY:
            self._count_many()

    def attempt_failed(self, unit: QueuedPodInfo, status: Status) -> None:
        log_lines.failed(unit, status)
        opened = self._opened.pop(unit.pod.uid, None)
        if opened is None:
            return
        began, decided, course, evaluated, feasible, post_filter = opened
        kind = UNSCHEDULABLE if status.rejected else ERROR if feasible else BROKEN
        course.endings[kind].append(
            (began, decided, evaluated, feasible, post_filter, self._clock(), began, unit.attempts, False)
        )
        self._uncounted += 1
        if self._uncounted >= _MANY:
            self._count_many()

    def point_ran(self, unit: QueuedPodInfo, point: str, status: Status | None, seconds: float) -> None:
        profile = unit.pod.template.spec.scheduler_name
        code = _code(status)
        self._later.append((self._metrics.point_duration.series(point, code, profile).observe, seconds))
        times = self._passed.get((point, code), 0)
        self._passed[point, code] = times + 1
        if profile in self._profiles and not times % EVERY:
            plugins = getattr(self._profiles[profile].late_points(unit.pod.template), _BINDING_POINTS[point])
            self._share(plugins, point, status, seconds)

    def permit_wait_ended(self, unit: QueuedPodInfo, status: Status | None, seconds: float) -> None:
        self._later.append((self._metrics.permit_wait.series(_code(status)).observe, seconds))

    def _share(self, plugins: Sequence[Plugin], point: str, status: Status | None, seconds: float) -> None:
        """The time that a point took, in equal parts; all of it of the plugin that stopped the pod, if one did."""
        names = [status.plugin] if status is not None and status.plugin else [plugin.name for plugin in plugins]
        for name in names:
            series = self._metrics.plugin_duration.series(name, point, _code(status))
            self._later.append((series.observe, seconds / len(names)))

    # The queue
    def event_received(self, event: str, about: Any = None) -> None:
        self._heard[event] = self._heard.get(event, 0) + 1
        if _log.verbosity >= 3:
            log_lines.heard(event, about)

    def node_updated(self, node: api.Node) -> None:
        if _log.verbosity >= 4:
            log_lines.changed_node(node)

    def pre_enqueue_ran(self, pod: Pod, status: Status | None, seconds: float) -> None:
        self._enqueued.append((pod.template.spec.scheduler_name, status, seconds))

    def took_in(self, seconds: float) -> None:
        """It took so long to take in what was heard since the last such call."""
        self._hearing += seconds

    def pod_queued(self, unit: QueuedPodInfo, queue: str, event: str) -> None:
        key = (unit.pod.template.spec.scheduler_name, queue, event)
        self._entered[key] = self._entered.get(key, 0) + 1
        if _log.verbosity >= 3:
            log_lines.entered(unit, queue, event)

    def hint_returned(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self._later.append((self._metrics.hint_duration.series(plugin, event, hint).observe, seconds))

    # Preemption
    def preemption_started(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        self._preemptions[preemptor.uid] = self._clock()
        self._later.append((self._metrics.victims.series().observe, float(len(victims))))
        log_lines.preempting(preemptor, node_name, len(victims))

    def victim_evicted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        log_lines.preempted(preemptor, victim, node_name)

    def preemption_ended(self, preemptor: Pod, node_name: str, failed: bool) -> None:
        result, now = "error" if failed else "success", self._clock()
        began = self._preemptions.pop(preemptor.uid, now)
        self._later.append((self._metrics.preemption_duration.series(result).observe, now - began))
        self._later.append((self._metrics.preemptions.series(result).add, 1.0))
        log_lines.preemption_over(preemptor, node_name, result)

    def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None:
        self._later.append((self._metrics.of_plugins[metric](*labels), value))

    def _post_filter(self, decision: Decision) -> str:
        if decision.error is not None or not decision.profile.post_filters:
            return ""
        if any(plugin.name == PREEMPTION for plugin in decision.profile.post_filters):
            self._later.append((self._metrics.preemption_attempts.series().add, 1.0))
        return Code.Success.name if decision.nominated_node_name else Code.Unschedulable.name

    # Counting
    def count(self) -> None:
        """Count what was taken down."""
        with self._counting:
            self._count()

    def _count_many(self) -> None:
        """If the other thread is at it, that will do."""
        self._uncounted = 0
        if self._counting.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._counting.release()

    def _count(self) -> None:
        for course in list(self._courses.values()):
            course.count(self._metrics)
        taken = self._later[:]
        del self._later[: len(taken)]
        for tell, value in taken:
            tell(value)
        self._count_enqueued()
        self._count_entered()
        self._count_heard()

    def _count_enqueued(self) -> None:
        taken = self._enqueued[:]
        del self._enqueued[: len(taken)]
        alike: dict[tuple[str, str, str], list[float]] = {}
        for name, status, seconds in taken:
            alike.setdefault((name, "" if status is None else status.plugin, _code(status)), []).append(seconds)
        for (name, stopper, code), times in alike.items():
            asked = self._profiles[name].pre_enqueues if name in self._profiles else ()
            plugins = [stopper] if stopper else [plugin.name for plugin in asked]
            for plugin in plugins:
                share = [seconds / len(plugins) for seconds in times]
                self._metrics.plugin_duration.series(plugin, "PreEnqueue", code).observe_many(share)
        if taken:
            self._enqueuing = sum(seconds for _, _, seconds in taken) / len(taken)

    def _count_entered(self) -> None:
        entered = self._entered.copy()
        for key, total in entered.items():
            profile, queue, event = key
            news = total - self._counted_entered.get(key, 0)
            if news:
                self._metrics.incoming.series(queue, event).add(news)
                if event not in _NOT_ASKED:
                    self._metrics.point_duration.series("PreEnqueue", "Success", profile).observe(self._enqueuing, news)
                if event in _ARRIVALS:
                    self._metrics.point_duration.series("Sign", "Success", profile).observe(0.0, news)
        self._counted_entered = entered

    def _count_heard(self) -> None:
        heard = self._heard.copy()
        seconds, self._hearing = self._hearing, 0.0
        news = {event: total - self._counted_heard.get(event, 0) for event, total in heard.items()}
        each = seconds / max(sum(news.values()), 1)
        for event, number in news.items():
            if number:
                self._metrics.event_duration.series(event).observe(each, number)
        self._counted_heard = heard

    def _find_course(self, decision: Decision) -> AttemptMetrics:
        profile, template = decision.profile, decision.pod.template
        unconcerned, late = profile.shape.of(template).unconcerned, profile.late_points(template)
        course = self._course_of(profile, unconcerned, late.straight, bool(late.reserve))
        template.derived[self] = course
        return course

    def _course_of(
        self, profile: Profile, unconcerned: frozenset[str], straight: bool, reserves: bool
    ) -> AttemptMetrics:
        key = (profile.name, unconcerned, straight, reserves)
        course = self._courses.get(key)
        if course is None:
            course = self._courses[key] = AttemptMetrics(profile, unconcerned, straight, reserves)
        return course


def _code(status: Status | None) -> str:
    return Code.Success.name if status is None else status.code.name
