"""Placements: a group is tried in each topology domain, and plugins choose among the domains in which it fits.

Upstream: pkg/scheduler/schedule_one_podgroup.go (podGroupSchedulingPlacementAlgorithm, findBestPlacement)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from stowplan.framework import Code, CycleState, Placement, PodGroupAssignments, PodGroupInfo, Status
from stowplan.framework.points import ERROR_TEXTS, PLACEMENT_GENERATE, PLACEMENT_SCORE
from stowplan.runtime.groups.group_status import GroupStatus, of_status
from stowplan.runtime.groups.members import GroupTrial
from stowplan.runtime.groups.parallel_trial import ParallelTrial, needed
from stowplan.runtime.profile.profile import Profile

_NONE_FEASIBLE = "no feasible placements found"
_MAX_SCORE = 100

Try = Callable[[Placement | None], Coroutine[Any, Any, GroupTrial]]
"""Tries all members in a placement; None stands for all nodes."""


class ScoredPlacement(NamedTuple):
    """Scores of a placement by plugin, weighted, and their sum."""

    scores: dict[str, int]
    total: int


class PlacementRun(NamedTuple):
    """A call of a plugin at an extension point of placements."""

    point: str
    """As in metrics."""
    plugin: str
    status: Status | None
    seconds: float


class PlacementSearch:
    """All placements of a group in one run."""

    _whole = False
    """Whether a placement is of use only if all members fit into it, without preemption."""

    def __init__(
        self,
        profile: Profile,
        group: PodGroupInfo,
        state: CycleState,
        *,
        in_parallel: bool = False,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """With `in_parallel`, placements that the group does not get may be missing in `trials`. `clock` times
        plugins."""
        self._in_parallel = in_parallel
        self._clock = clock
        self.runs: list[PlacementRun] = []
        """All calls of plugins."""
        self._profile = profile
        self._group = group
        self._state = state
        self.placements: Sequence[Placement] = ()
        """In the order in which they are tried, which is that of their names."""
        self.trials: list[GroupTrial] = []
        self.scored: dict[str, ScoredPlacement] = {}
        """By the name of the placement; empty unless there is more than one to choose from."""
        self.error: Status | None = None
        """Why placements could not be made or scored."""
        self._untried: frozenset[str] = frozenset()
        """The filters that may have rejected members in placements without a trial."""

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that rejected members in any placement: events that help one of them may help the group, although
        messages are about the first placement."""
        return self._untried.union(*(result.rejectors for trial in self.trials for result in trial.results))

    async def run(self, try_members: Try) -> GroupTrial:
        """The trial of the best placement; without one, the first trial with the status of the whole group."""
        self.error = self._generate()
        if self.error is not None:
            return _without_members(self.error)
        found = await self._run_in_parallel(try_members) if self._in_parallel else None
        if found is not None:
            return found
        for placement in self.placements:
            if (await self._try(placement, try_members)).status.code == Code.Error:
                return self.trials[-1]
        fitting = [trial for trial in self.trials if trial.fits]
        if not fitting:
            return self._none_fits()
        if len(fitting) == 1:
            return fitting[0]
        self.error = self._score([_assignments(trial) for trial in fitting])
        if self.error is not None:
            return _without_members(self.error)
        return max(fitting, key=lambda trial: self.scored[_name(trial)].total)  # The first of several.

    async def _try(self, placement: Placement, try_members: Try) -> GroupTrial:
        everywhere = placement.nodes.meant == len(self._profile.cluster.nodes)
        trial = (await try_members(None if everywhere else placement))._replace(placement=placement)
        self.trials.append(trial)
        return trial

    async def _run_in_parallel(self, try_members: Try) -> GroupTrial | None:
        """The trial of the best placement; None if placements have to be tried one after the other, or none fits."""
        group = self._group
        # Members of other groups may preempt, so that a placement without room for them may be chosen.
        if group.rules is None or not (self._whole or group.rules.constrained):
            return None
        parallel = ParallelTrial(self._profile, group)
        assigned = parallel.run_in(self.placements)
        if assigned is None:
            return None
        state = self._profile.cluster.pod_groups.get(group.namespace, group.name)
        least = len(group.members) if self._whole else needed(group, 0 if state is None else state.scheduled_count)
        fitting = [
            PodGroupAssignments(placement, each)
            for placement, each in zip(self.placements, assigned, strict=True)
            if len(each) >= least
        ]
        if not fitting:
            self._untried = parallel.filters
            await self._try(self.placements[0], try_members)
            return self._none_fits()
        best = fitting[0].placement
        if len(fitting) > 1:
            self.error = self._score(fitting)
            if self.error is not None:
                return _without_members(self.error)
            best = max(fitting, key=lambda each: self.scored[each.placement.name].total).placement
        return await self._try(best, try_members)

    def _none_fits(self) -> GroupTrial:
        first = self.trials[0]
        text = f"0/{len(self.placements)} placements are available, first placement status: {first.status.as_error}"
        return first._replace(status=GroupStatus(Code.Unschedulable, "", (text,)))

    def _generate(self) -> Status | None:
        """Make the placements; returns why there are none."""
        everything = Placement("", self._profile.cluster.nodes.everything())
        generators = self._profile.points[PLACEMENT_GENERATE]
        if not generators:
            self.placements = (everything,)
            return None
        plugin = generators[0]
        began = self._clock()
        answer = plugin.generate_placements(self._state, self._group, everything)
        self._ran("PlacementGenerate", plugin.name, answer, began)
        if isinstance(answer, Status):
            return answer.with_plugin(plugin.name)
        self.placements = sorted(answer, key=lambda placement: placement.name)
        if not self.placements:
            return Status(Code.Unschedulable, _NONE_FEASIBLE, plugin=plugin.name)
        return None

    def _ran(self, point: str, plugin: str, answer: object, began: float) -> None:
        status = answer if isinstance(answer, Status) else None
        self.runs.append(PlacementRun(point, plugin, status, self._clock() - began))

    def _score(self, fitting: Sequence[PodGroupAssignments]) -> Status | None:
        """Runs PlacementScore on the placements in which the group fits."""
        plugins = self._profile.points[PLACEMENT_SCORE]
        scores: dict[str, dict[str, int]] = {}
        for plugin in plugins:
            scores[plugin.name] = {}
            for each in fitting:
                began = self._clock()
                score = plugin.score_placement(self._state, self._group, each)
                self._ran("PlacementScore", plugin.name, score, began)
                if isinstance(score, Status):
                    return _failed(PLACEMENT_SCORE, plugin.name, score.message)
                scores[plugin.name][each.placement.name] = int(score)
        for plugin in plugins:
            began = self._clock()
            status = plugin.normalize_placement_score(self._state, self._group, scores[plugin.name])
            self._ran("PlacementScoreExtensionNormalize", plugin.name, status, began)
            if status is not None and status.code:
                return _failed("normalizePlacements", plugin.name, status.message)
        for plugin in plugins:
            for score in scores[plugin.name].values():
                if not 0 <= score <= _MAX_SCORE:
                    return _failed("weighPlacements", plugin.name, str(score))
        weights = self._profile.placement_weights
        for each in fitting:
            name = each.placement.name
            weighted = {plugin: weights[plugin] * by_name[name] for plugin, by_name in scores.items()}
            self.scored[name] = ScoredPlacement(weighted, sum(weighted.values()))
        return None


def _name(trial: GroupTrial) -> str:
    return "" if trial.placement is None else trial.placement.name


def _assignments(trial: GroupTrial) -> PodGroupAssignments:
    assert trial.placement is not None
    return PodGroupAssignments(
        trial.placement, [(result.pod, result.node_name) for result in trial.results if result.node_name]
    )


def _without_members(status: Status) -> GroupTrial:
    """The result of a run that failed before members were tried, or after all of them."""
    return GroupTrial(None, (), of_status(status), waiting_on_preemption=False)


def _failed(step: str, plugin: str, message: str) -> Status:
    return Status(Code.Error, ERROR_TEXTS[step].format(plugin=plugin, message=message))
