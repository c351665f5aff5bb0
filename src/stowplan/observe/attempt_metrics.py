"""Per-attempt metrics of the pods that concern the same plugins.

Plugins are not timed one by one on the fast path. An attempt is recorded with the set of plugins that it concerns, and
its decision time is exposed as Filter's; PreFilter, PreScore, Score and PostFilter are part of it and are exposed with
zero seconds. For single plugins, one attempt in ten is sampled: its decision time is split evenly among the plugins at
Sign (`Plugin.signature` here), PreFilter, Filter, PostFilter, PreScore, Score and ScoreExtensionNormalize. The time
from the decision to the binding request is split likewise among the plugins at Reserve and PreBindPreFlight, for pods
that no plugin delays.

Upstream: pkg/scheduler/metrics/metric_recorder.go, pkg/scheduler/metrics/profile_metrics.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from stowplan.framework import Plugin, implements
from stowplan.framework.points import POINTS, STEPS
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.series import take
from stowplan.runtime import Profile
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

SCHEDULED, UNSCHEDULABLE, ERROR, BROKEN = "scheduled", "unschedulable", "error", "broken"
"""Results of an attempt. An error follows the choice of a node; a broken attempt has no decision."""

PREEMPTION = "DefaultPreemption"

SAMPLED_EVERY_NTH = 10
"""One attempt in ten is sampled for single plugins, as in kube-scheduler."""

_MAX_ATTEMPTS_LABEL = 15

_IDLE_STATUSES = {step.go_name: step.idle_status for step in STEPS if step.idle_status}
"""Points around the binding of a pod, with the status that is recorded if no plugin delays the pod."""

_FILTERING = ("Sign", *(point.go_name for point in POINTS if point.phase == "filtering"))
_SCORING = tuple(s.go_name for point in POINTS if point.phase == "scoring" for s in point.steps if s.go_name)
"""The points of a decision, and those that run only with more than one feasible node."""

_Path = tuple[str, bool, str]
"""Result, whether nodes were scored, and PostFilter's status."""


class DecidedAttempt(NamedTuple):
    """An attempt that is decided and not over."""

    began: float
    decided: float
    metrics: AttemptMetrics
    evaluated: int
    feasible: int
    """Nodes evaluated and feasible."""
    post_filter: str
    """PostFilter's status; empty if it did not run."""


class EndedAttempt(NamedTuple):
    """An attempt that is over."""

    began: float
    decided: float
    evaluated: int
    feasible: int
    post_filter: str
    ended: float
    ready: float
    """When the pod first entered the active queue."""
    attempts: int
    flushed: bool
    """Whether the pod was flushed from the unschedulable pods."""


class _Attempts(NamedTuple):
    """Attempts as columns, in the order of `EndedAttempt`."""

    began: Sequence[float]
    decided: Sequence[float]
    evaluated: Sequence[int]
    feasible: Sequence[int]
    post_filter: Sequence[str]
    ended: Sequence[float]
    ready: Sequence[float]
    attempts: Sequence[int]
    flushed: Sequence[bool]


class AttemptMetrics:
    """Attempts in one profile that concern the same plugins."""

    def __init__(self, profile: Profile, unconcerned: frozenset[str], straight: bool, reserves: bool = False) -> None:
        """`straight`: no plugin delays the pods before their binding. `reserves`: a plugin reserves something."""
        self.ended: dict[str, list[EndedAttempt]] = {SCHEDULED: [], UNSCHEDULABLE: [], ERROR: [], BROKEN: []}
        """Attempts by result that are not counted yet."""
        self.repeated: Counter[tuple[int, str]] = Counter()
        """Refusals of equal pods that took no time of their own, not counted yet, by (nodes evaluated, PostFilter's
        status)."""
        self.until_binding: list[float] = []
        """Seconds between decision and binding request of sampled pods, not counted yet."""
        self.straight = straight
        self._profile = profile.name
        self._reserves = reserves
        self._evaluated = {
            "PreFilter": tuple((plugin.name, plugin.name in unconcerned) for plugin in profile.pre_filters),
            "Filter": tuple((p.name, False) for p in profile.filters if p.name not in unconcerned),
            "PreScore": tuple((plugin.name, plugin.name in unconcerned) for plugin in profile.pre_scores),
            "Score": tuple((p.name, False) for p, _ in profile.scorers if p.name not in unconcerned),
        }
        """By point, the plugins that run, and whether they return Skip."""
        scorers = [plugin for plugin, _ in profile.scorers]
        concerned = dict.fromkeys(p for p in (*profile.filters, *scorers) if p.name not in unconcerned)
        self._timed = {
            **self._evaluated,
            "Sign": tuple((plugin.name, False) for plugin in concerned if _signs(plugin)),
            "ScoreExtensionNormalize": tuple((p.name, False) for p in scorers if p in concerned and _normalizes(p)),
        }
        """The same for durations, which have two more points."""
        reserving = () if reserves else profile.points["reserve"]
        self._before_binding = (
            *((plugin.name, "Reserve", "Success") for plugin in reserving),
            *((plugin.name, "PreBindPreFlight", "Skip") for plugin in profile.points["preBind"]),
        )
        self._binder = next((plugin.name for plugin in profile.points["bind"]), "")
        self._post_filters = [plugin.name for plugin in profile.post_filters]
        self._successful_post_filters = _preemption(profile.post_filters)
        self._seen: dict[_Path, int] = {}
        """Attempts so far; the first of each path is sampled."""

    def announce(self, metrics: SchedulerMetrics) -> None:
        """Create the series of all plugins with zero."""
        self._count_evaluations(metrics, {})

    def count(self, metrics: SchedulerMetrics) -> None:
        """Count the attempts that ended since the last call."""
        for result, records in self.ended.items():
            if records:
                self._count(metrics, result, take(records))
        repeated, self.repeated = self.repeated, Counter()
        for (evaluated, post_filter), number in repeated.items():
            self._count_repeated(metrics, evaluated, post_filter, number)
        seconds = take(self.until_binding)
        for plugin, point, status in self._before_binding if seconds else ():
            share = [each / len(self._before_binding) for each in seconds]
            metrics.plugin_duration.series(plugin, point, status).observe_many(share)

    def _count(self, metrics: SchedulerMetrics, result: str, records: Sequence[EndedAttempt]) -> None:
        columns = _Attempts._make(zip(*records, strict=True))
        deciding = _differences(columns.decided, columns.began)
        binding = _differences(columns.ended, columns.decided)
        label = ERROR if result == BROKEN else result
        metrics.attempts.series(label, self._profile).add(len(records))
        durations = _differences(columns.ended, columns.began)
        metrics.attempt_duration.series(label, self._profile).observe_many(durations)
        metrics.algorithm_duration.series().observe_many(deciding)
        scored = [nodes for nodes in columns.feasible if nodes > 1]
        self._count_cycles(metrics, result, deciding, columns.post_filter, len(scored))
        if result == SCHEDULED:
            metrics.pod_attempts.series().observe_many(columns.attempts)
            metrics.after_flush.series().add(sum(columns.flushed))
            _count_waits(metrics, columns.attempts, _differences(columns.ended, columns.ready))
            self._count_bindings(metrics, binding, len(scored))
        times = {
            "PreFilter": len(records),
            "Filter": sum(columns.evaluated),
            "PreScore": len(scored),
            "Score": sum(scored),
        }
        self._count_evaluations(metrics, times)
        paths = [
            (result, nodes > 1, status) for nodes, status in zip(columns.feasible, columns.post_filter, strict=True)
        ]
        for path in dict.fromkeys(paths):
            all_alike = paths.count(path) == len(paths)
            alike = range(len(paths)) if all_alike else [i for i, each in enumerate(paths) if each == path]
            self._count_samples(metrics, path, alike, deciding, binding)

    def _count_repeated(self, metrics: SchedulerMetrics, evaluated: int, post_filter: str, number: int) -> None:
        """Refusals of equal pods, with zero seconds."""
        metrics.attempts.series(UNSCHEDULABLE, self._profile).add(number)
        metrics.attempt_duration.series(UNSCHEDULABLE, self._profile).observe(0.0, number)
        metrics.algorithm_duration.series().observe(0.0, number)
        duration = metrics.point_duration
        points = [("PreFilter", "Success"), ("Filter", "Success")]
        for point, status in [*points, ("PostFilter", post_filter)] if post_filter else points:
            duration.series(point, status, self._profile).observe(0.0, number)
        metrics.batch_attempts.series(self._profile, "no_hint").add(number)
        metrics.hint_lookup.series("no_hint", self._profile).observe(0.0, number)
        self._count_evaluations(metrics, {"PreFilter": number, "Filter": evaluated * number})

    def _count_samples(
        self,
        metrics: SchedulerMetrics,
        path: _Path,
        positions: Sequence[int],
        deciding: Sequence[float],
        binding: Sequence[float],
    ) -> None:
        """Durations of single plugins, from one in ten attempts of a path."""
        seen = self._seen.get(path, 0)
        self._seen[path] = seen + len(positions)
        samples = positions[-seen % SAMPLED_EVERY_NTH :: SAMPLED_EVERY_NTH]
        if not samples:
            return
        result, scores, post_filter = path
        self._count_plugins(metrics, [deciding[position] for position in samples], scores, post_filter)
        if result == SCHEDULED and self.straight and self._binder:
            series = metrics.plugin_duration.series(self._binder, "Bind", "Success")
            series.observe_many([binding[position] for position in samples])

    def _count_evaluations(self, metrics: SchedulerMetrics, times: dict[str, int]) -> None:
        for point, plugins in self._evaluated.items():
            for plugin, _ in plugins:
                metrics.evaluations.series(plugin, point, self._profile).add(times.get(point, 0))

    def _count_cycles(
        self, metrics: SchedulerMetrics, result: str, deciding: Sequence[float], post_filter: Sequence[str], scored: int
    ) -> None:
        duration, profile, number = metrics.point_duration, self._profile, len(deciding)
        duration.series("PreFilter", "Success", profile).observe(0.0, number)
        duration.series("Filter", "Error" if result == BROKEN else "Success", profile).observe_many(deciding)
        if scored:
            for point in ("PreScore", "Score"):
                duration.series(point, "Success", profile).observe(0.0, scored)
        for status in filter(None, post_filter):
            duration.series("PostFilter", status, profile).observe(0.0)
        # No cycle starts with a hint from the one before.
        metrics.batch_attempts.series(profile, "no_hint").add(number)
        metrics.hint_lookup.series("no_hint", profile).observe(0.0, number)

    def _count_bindings(self, metrics: SchedulerMetrics, binding: Sequence[float], scored: int) -> None:
        profile, number = self._profile, len(binding)
        if self.straight:
            for point, status in _IDLE_STATUSES.items():
                if point != "Reserve" or not self._reserves:
                    metrics.point_duration.series(point, status, profile).observe(0.0, number)
            metrics.point_duration.series("Bind", "Success", profile).observe_many(binding)
        # No cycle stores a hint for the next.
        metrics.hint_storage.series(profile).observe(0.0, number)
        for reason, times in (("pod_not_batchable", scored), ("empty_list", number - scored)):
            if times:
                metrics.batch_flushes.series(profile, reason).add(times)

    def _count_plugins(
        self, metrics: SchedulerMetrics, deciding: Sequence[float], scores: bool, post_filter: str
    ) -> None:
        """Plugins that ran get equal shares of the decision time; skipped ones get zero."""
        ran = [
            (plugin, point, "Skip" if skips else "Success")
            for point in ((*_FILTERING, *_SCORING) if scores else _FILTERING)
            for plugin, skips in self._timed[point]
        ]
        if post_filter:
            plugins = self._successful_post_filters if post_filter == "Success" else self._post_filters
            ran += [(plugin, "PostFilter", post_filter) for plugin in plugins]
        share = sum(deciding) / len(deciding) / max(sum(status != "Skip" for _, _, status in ran), 1)
        for plugin, point, status in ran:
            series = metrics.plugin_duration.series(plugin, point, status)
            series.observe(0.0 if status == "Skip" else share, len(deciding))


def _preemption(plugins: Sequence[Plugin]) -> list[str]:
    """The plugin that nominates a node when PostFilter succeeds."""
    names = [plugin.name for plugin in plugins]
    return [PREEMPTION] if PREEMPTION in names else names[-1:]


def _signs(plugin: Plugin) -> bool:
    """Whether the plugin has a signature."""
    return implements(_class_of(plugin), "signature")


def _normalizes(plugin: Plugin) -> bool:
    """Whether the plugin normalizes its scores."""
    kind = _class_of(plugin)
    return plugin.normalize is not None or any(implements(kind, way) for way in ("normalize_score", "normalize_nodes"))


def _class_of(plugin: Plugin) -> type:
    """The class that the plugin's author wrote."""
    return type(plugin.inner if isinstance(plugin, OutOfTreePlugin) else plugin)


def _count_waits(metrics: SchedulerMetrics, attempts: Sequence[int], waits: Sequence[float]) -> None:
    """The time since pods first entered the active queue, by number of attempts."""
    for number in set(attempts):
        label = str(number) if number < _MAX_ATTEMPTS_LABEL else f"{_MAX_ATTEMPTS_LABEL}+"
        chosen = [wait for wait, tries in zip(waits, attempts, strict=True) if tries == number]
        metrics.sli_duration.series(label).observe_many(chosen)


def _differences(later: Sequence[float], earlier: Sequence[float]) -> list[float]:
    return [end - begin for end, begin in zip(later, earlier, strict=True)]
