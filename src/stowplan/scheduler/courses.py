"""Ways through a profile's plugins, and how the attempts that went them are counted.

A fast cycle does not ask plugins one by one, so most of what kube-scheduler tells about them follows from an attempt's
course: which plugins pods of its template concern. The time it took to decide is told as Filter's; PreFilter,
PreScore, Score and PostFilter were part of it, and are told with zero seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.observe.metrics import SchedulerMetrics
from stowplan.runtime import Profile

SCHEDULED, UNSCHEDULABLE, ERROR, BROKEN = "scheduled", "unschedulable", "error", "broken"
"""How an attempt ends. An error comes after a node was chosen; broken is one that came to no decision."""

Ending = tuple[float, float, int, int, str, float, float, int, bool]
"""An attempt that is over: when it began, when it was decided, nodes evaluated, nodes feasible, what PostFilter came to
("" where it was not asked), when it ended, when the pod was first ready, number of attempts, whether it was flushed."""

_EVERY = 10
"""One in so many cycles tells of single plugins, as in kube-scheduler."""

_MOST_ATTEMPTS = 15

_NO_TIME = {
    "Reserve": "Success",
    "Permit": "Success",
    "PreBindPreFlight": "Skip",
    "PreBind": "Success",
    "PostBind": "Success",
}
"""The points around the binding of a pod that nobody holds up, and what they come to."""


class Course:
    """Attempts in one profile that concern the same plugins."""

    def __init__(self, profile: Profile, unconcerned: frozenset[str], straight: bool) -> None:
        self.endings: dict[str, list[Ending]] = {SCHEDULED: [], UNSCHEDULABLE: [], ERROR: [], BROKEN: []}
        """What is yet to be counted."""
        self._profile = profile.name
        self._straight = straight
        self._asked = {
            "PreFilter": tuple((plugin.name, plugin.name in unconcerned) for plugin in profile.pre_filters),
            "Filter": tuple((p.name, False) for p in profile.filters if p.name not in unconcerned),
            "PreScore": tuple((plugin.name, plugin.name in unconcerned) for plugin in profile.pre_scores),
            "Score": tuple((p.name, False) for p, _ in profile.scorers if p.name not in unconcerned),
        }
        """By point, the plugins that are asked, and whether they answer Skip."""
        self._binder = next((plugin.name for plugin in profile.points["bind"]), "")
        self._told = 0

    def announce(self, metrics: SchedulerMetrics) -> None:
        """Tell of plugins before they are asked for the first time."""
        self._count_evaluations(metrics, {})

    def count(self, metrics: SchedulerMetrics) -> None:
        """Count the endings so far."""
        for kind, endings in self.endings.items():
            if endings:
                # Others may be added meanwhile, at the end.
                taken = endings[:]
                del endings[: len(taken)]
                self._count(metrics, kind, taken)

    def _count(self, metrics: SchedulerMetrics, kind: str, endings: Sequence[Ending]) -> None:
        began, decided, evaluated, feasible, post_filter, ended, ready, attempts, flushed = zip(*endings, strict=True)
        deciding, binding = _differences(decided, began), _differences(ended, decided)
        result = ERROR if kind == BROKEN else kind
        metrics.attempts.series(result, self._profile).add(len(endings))
        metrics.attempt_duration.series(result, self._profile).observe_many(_differences(ended, began))
        metrics.algorithm_duration.series().observe_many(deciding)
        scored = [nodes for nodes in feasible if nodes > 1]
        self._count_cycles(metrics, kind, deciding, post_filter, len(scored))
        if kind == SCHEDULED:
            metrics.pod_attempts.series().observe_many(attempts)
            metrics.after_flush.series().add(sum(flushed))
            _count_waits(metrics, attempts, _differences(ended, ready))
            self._count_bindings(metrics, binding, len(scored))
        times = {"PreFilter": len(endings), "Filter": sum(evaluated), "PreScore": len(scored), "Score": sum(scored)}
        self._count_evaluations(metrics, times)
        some = slice(-self._told % _EVERY, None, _EVERY)
        self._told += len(endings)
        if deciding[some]:
            self._count_plugins(metrics, deciding[some], feasible[some], binding[some] if kind == SCHEDULED else ())

    def _count_evaluations(self, metrics: SchedulerMetrics, times: dict[str, int]) -> None:
        for point, plugins in self._asked.items():
            for plugin, _ in plugins:
                metrics.evaluations.series(plugin, point, self._profile).add(times.get(point, 0))

    def _count_cycles(
        self, metrics: SchedulerMetrics, kind: str, deciding: Sequence[float], post_filter: Sequence[str], scored: int
    ) -> None:
        duration, profile, number = metrics.point_duration, self._profile, len(deciding)
        duration.series("PreFilter", "Success", profile).observe(0.0, number)
        duration.series("Filter", "Error" if kind == BROKEN else "Success", profile).observe_many(deciding)
        if scored:
            for point in ("PreScore", "Score"):
                duration.series(point, "Success", profile).observe(0.0, scored)
        for status in filter(None, post_filter):
            duration.series("PostFilter", status, profile).observe(0.0)
        # No cycle begins with a hint from the one before.
        metrics.batch_attempts.series(profile, "no_hint").add(number)
        metrics.hint_lookup.series("no_hint", profile).observe(0.0, number)

    def _count_bindings(self, metrics: SchedulerMetrics, binding: Sequence[float], scored: int) -> None:
        profile, number = self._profile, len(binding)
        if self._straight:
            for point, status in _NO_TIME.items():
                metrics.point_duration.series(point, status, profile).observe(0.0, number)
            metrics.point_duration.series("Bind", "Success", profile).observe_many(binding)
        # And none leaves one for the next.
        metrics.hint_storage.series(profile).observe(0.0, number)
        for reason, times in (("pod_not_batchable", scored), ("empty_list", number - scored)):
            if times:
                metrics.batch_flushes.series(profile, reason).add(times)

    def _count_plugins(
        self, metrics: SchedulerMetrics, deciding: Sequence[float], feasible: Sequence[int], binding: Sequence[float]
    ) -> None:
        """All filters get the same share of the time it took to decide, for there is no telling them apart."""
        duration = metrics.plugin_duration
        share = sum(deciding) / len(deciding) / max(len(self._asked["Filter"]), 1)
        scored = sum(nodes > 1 for nodes in feasible)
        for point, plugins in self._asked.items():
            times = len(deciding) if point in ("PreFilter", "Filter") else scored
            for plugin, skips in plugins if times else ():
                series = duration.series(plugin, point, "Skip" if skips else "Success")
                series.observe(share if point == "Filter" else 0.0, times)
        if binding and self._straight and self._binder:
            duration.series(self._binder, "Bind", "Success").observe_many(binding)


def _count_waits(metrics: SchedulerMetrics, attempts: Sequence[int], waits: Sequence[float]) -> None:
    """The time from when pods were first ready, by the number of attempts that it took."""
    for number in set(attempts):
        label = str(number) if number < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        chosen = [wait for wait, tries in zip(waits, attempts, strict=True) if tries == number]
        metrics.sli_duration.series(label).observe_many(chosen)


def _differences(later: Sequence[float], earlier: Sequence[float]) -> list[float]:
    return [end - begin for end, begin in zip(later, earlier, strict=True)]
