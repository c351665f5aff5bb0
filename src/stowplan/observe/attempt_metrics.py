"""Ways through a profile's plugins, and how the attempts that went them are counted.

A fast cycle does not ask plugins one by one, so most of what kube-scheduler tells about them follows from an attempt's
course: which plugins pods of its template concern. The time it took to decide is told as Filter's; PreFilter,
PreScore, Score and PostFilter were part of it, and are told with zero seconds.

Of single plugins some cycles tell, and there is no telling their plugins apart: the time it took to decide is told in
equal parts of all that were asked, at Sign, PreFilter, Filter, PostFilter, PreScore, Score and ScoreExtensionNormalize.
What Sign is there our plugins call `signature`. The time from the decision to the request to bind is told likewise of
the plugins at Reserve and PreBindPreFlight, where pods are not held up.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.framework import Plugin, implements
from stowplan.framework.points import POINTS, STEPS
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.runtime import Profile
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

SCHEDULED, UNSCHEDULABLE, ERROR, BROKEN = "scheduled", "unschedulable", "error", "broken"
"""How an attempt ends. An error comes after a node was chosen; broken is one that came to no decision."""

Ending = tuple[float, float, int, int, str, float, float, int, bool]
"""An attempt that is over: when it began, when it was decided, nodes evaluated, nodes feasible, what PostFilter came to
("" where it was not asked), when it ended, when the pod was first ready, number of attempts, whether it was flushed."""

PREEMPTION = "DefaultPreemption"

_Way = tuple[str, bool, str]
"""How an attempt ends, whether nodes were scored, and what PostFilter came to."""

EVERY = 10
"""One in so many cycles tells of single plugins, as in kube-scheduler."""

_MOST_ATTEMPTS = 15

_IDLE_STATUSES = {step.go_name: step.idle_status for step in STEPS if step.idle_status}
"""Points around the binding of a pod, with the status that is recorded where no plugin delays the pod."""

_FILTERING = ("Sign", *(point.go_name for point in POINTS if point.phase == "filtering"))
_SCORING = tuple(s.go_name for point in POINTS if point.phase == "scoring" for s in point.steps if s.go_name)
"""The points of a decision, and those that run only if there is more than one feasible node."""


class AttemptMetrics:
    """Attempts in one profile that concern the same plugins."""

    def __init__(self, profile: Profile, unconcerned: frozenset[str], straight: bool, reserves: bool = False) -> None:
        """`straight` pods are not held up on the way to the binding; some plugin `reserves` something for them."""
        self.endings: dict[str, list[Ending]] = {SCHEDULED: [], UNSCHEDULABLE: [], ERROR: [], BROKEN: []}
        """What is yet to be counted."""
        self.between: list[float] = []
        """The same for times between decision and binding, of some pods that nobody holds up."""
        self.straight = straight
        self._profile = profile.name
        self._reserves = reserves
        self._asked = {
            "PreFilter": tuple((plugin.name, plugin.name in unconcerned) for plugin in profile.pre_filters),
            "Filter": tuple((p.name, False) for p in profile.filters if p.name not in unconcerned),
            "PreScore": tuple((plugin.name, plugin.name in unconcerned) for plugin in profile.pre_scores),
            "Score": tuple((p.name, False) for p, _ in profile.scorers if p.name not in unconcerned),
        }
        """By point, the plugins that are asked, and whether they answer Skip."""
        scorers = [plugin for plugin, _ in profile.scorers]
        asked = dict.fromkeys(p for p in (*profile.filters, *scorers) if p.name not in unconcerned)
        self._timed = {
            **self._asked,
            "Sign": tuple((plugin.name, False) for plugin in asked if _signs(plugin)),
            "ScoreExtensionNormalize": tuple((p.name, False) for p in scorers if p in asked and _normalizes(p)),
        }
        """The same for times, at more points."""
        reserving = () if reserves else profile.points["reserve"]
        self._late = (
            *((plugin.name, "Reserve", "Success") for plugin in reserving),
            *((plugin.name, "PreBindPreFlight", "Skip") for plugin in profile.points["preBind"]),
        )
        self._binder = next((plugin.name for plugin in profile.points["bind"]), "")
        self._post_filters = [plugin.name for plugin in profile.post_filters]
        self._helper = _preemption(profile.post_filters)
        self._told: dict[_Way, int] = {}
        """How many endings there were; the first of each kind tells of its plugins."""

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
        between = self.between[:]
        del self.between[: len(between)]
        for plugin, point, status in self._late if between else ():
            share = [seconds / len(self._late) for seconds in between]
            metrics.plugin_duration.series(plugin, point, status).observe_many(share)

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
        ways = [(kind, nodes > 1, came_to) for nodes, came_to in zip(feasible, post_filter, strict=True)]
        for way in dict.fromkeys(ways):
            alike = (
                range(len(ways)) if ways.count(way) == len(ways) else [i for i, each in enumerate(ways) if each == way]
            )
            self._count_some(metrics, way, alike, deciding, binding)

    def _count_some(
        self,
        metrics: SchedulerMetrics,
        way: _Way,
        positions: Sequence[int],
        deciding: Sequence[float],
        binding: Sequence[float],
    ) -> None:
        """Tell of single plugins, of one in ten endings that are alike."""
        told = self._told.get(way, 0)
        self._told[way] = told + len(positions)
        some = positions[-told % EVERY :: EVERY]
        if not some:
            return
        kind, scores, post_filter = way
        self._count_plugins(metrics, [deciding[position] for position in some], scores, post_filter)
        if kind == SCHEDULED and self.straight and self._binder:
            series = metrics.plugin_duration.series(self._binder, "Bind", "Success")
            series.observe_many([binding[position] for position in some])

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
        if self.straight:
            for point, status in _IDLE_STATUSES.items():
                if point != "Reserve" or not self._reserves:
                    metrics.point_duration.series(point, status, profile).observe(0.0, number)
            metrics.point_duration.series("Bind", "Success", profile).observe_many(binding)
        # And none leaves one for the next.
        metrics.hint_storage.series(profile).observe(0.0, number)
        for reason, times in (("pod_not_batchable", scored), ("empty_list", number - scored)):
            if times:
                metrics.batch_flushes.series(profile, reason).add(times)

    def _count_plugins(
        self, metrics: SchedulerMetrics, deciding: Sequence[float], scores: bool, post_filter: str
    ) -> None:
        """Those that were asked get the same share of the time it took to decide; the others took none."""
        asked = [
            (plugin, point, "Skip" if skips else "Success")
            for point in ((*_FILTERING, *_SCORING) if scores else _FILTERING)
            for plugin, skips in self._timed[point]
        ]
        if post_filter:
            plugins = self._helper if post_filter == "Success" else self._post_filters
            asked += [(plugin, "PostFilter", post_filter) for plugin in plugins]
        share = sum(deciding) / len(deciding) / max(sum(status != "Skip" for _, _, status in asked), 1)
        for plugin, point, status in asked:
            series = metrics.plugin_duration.series(plugin, point, status)
            series.observe(0.0 if status == "Skip" else share, len(deciding))


def _preemption(plugins: Sequence[Plugin]) -> list[str]:
    """The plugin that helps where PostFilter came to anything."""
    names = [plugin.name for plugin in plugins]
    return [PREEMPTION] if PREEMPTION in names else names[-1:]


def _signs(plugin: Plugin) -> bool:
    """Whether it says what part of a pod its answers depend on."""
    return implements(_kind(plugin), "signature")


def _normalizes(plugin: Plugin) -> bool:
    """Whether its scores are put into proportion to each other."""
    kind = _kind(plugin)
    return plugin.normalize is not None or any(implements(kind, way) for way in ("normalize_score", "normalize_nodes"))


def _kind(plugin: Plugin) -> type:
    """The class of a plugin, as its author wrote it."""
    return type(plugin.inner if isinstance(plugin, OutOfTreePlugin) else plugin)


def _count_waits(metrics: SchedulerMetrics, attempts: Sequence[int], waits: Sequence[float]) -> None:
    """The time from when pods were first ready, by the number of attempts that it took."""
    for number in set(attempts):
        label = str(number) if number < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        chosen = [wait for wait, tries in zip(waits, attempts, strict=True) if tries == number]
        metrics.sli_duration.series(label).observe_many(chosen)


def _differences(later: Sequence[float], earlier: Sequence[float]) -> list[float]:
    return [end - begin for end, begin in zip(later, earlier, strict=True)]
