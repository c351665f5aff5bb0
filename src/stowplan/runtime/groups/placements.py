"""Placements: a group is tried in each topology domain, and plugins choose among the domains in which it fits.

Upstream: pkg/scheduler/schedule_one_podgroup.go (podGroupSchedulingPlacementAlgorithm, findBestPlacement)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stowplan.framework import Code, CycleState, Placement, PodGroupAssignments, PodGroupInfo, Status
from stowplan.framework.points import ERROR_TEXTS, PLACEMENT_GENERATE, PLACEMENT_SCORE
from stowplan.runtime.groups.group_status import GroupStatus, of_status
from stowplan.runtime.groups.members import GroupTrial
from stowplan.runtime.profile.profile import Profile

_NONE_FEASIBLE = "no feasible placements found"
_MAX_SCORE = 100

Try = Callable[[Placement | None], GroupTrial]
"""Tries all members in a placement; None stands for all nodes."""


class ScoredPlacement(NamedTuple):
    """Scores of a placement by plugin, weighted, and their sum."""

    scores: dict[str, int]
    total: int


class PlacementSearch:
    """All placements of a group in one run."""

    def __init__(self, profile: Profile, group: PodGroupInfo, state: CycleState) -> None:
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

    def run(self, try_members: Try) -> GroupTrial:
        """The trial of the best placement; without one, the first trial with the status of the whole group."""
        self.error = self._generate()
        if self.error is not None:
            return _without_members(self.error)
        all_nodes = len(self._profile.cluster.nodes)
        for placement in self.placements:
            trial = try_members(None if placement.nodes.meant == all_nodes else placement)
            self.trials.append(trial._replace(placement=placement))
            if trial.status.code == Code.Error:
                return self.trials[-1]
        fitting = [trial for trial in self.trials if trial.fits]
        if not fitting:
            first = self.trials[0]
            text = f"0/{len(self.placements)} placements are available, first placement status: {first.status.as_error}"
            return first._replace(status=GroupStatus(Code.Unschedulable, "", (text,)))
        if len(fitting) == 1:
            return fitting[0]
        self.error = self._score(fitting)
        if self.error is not None:
            return _without_members(self.error)
        return max(fitting, key=lambda trial: self.scored[_name(trial)].total)  # The first of several.

    def _generate(self) -> Status | None:
        everything = Placement("", self._profile.cluster.nodes.everything())
        generators = self._profile.points[PLACEMENT_GENERATE]
        if not generators:
            self.placements = (everything,)
            return None
        plugin = generators[0]
        answer = plugin.generate_placements(self._state, self._group, everything)
        if isinstance(answer, Status):
            return answer.with_plugin(plugin.name)
        self.placements = sorted(answer, key=lambda placement: placement.name)
        if not self.placements:
            return Status(Code.Unschedulable, _NONE_FEASIBLE, plugin=plugin.name)
        return None

    def _score(self, fitting: list[GroupTrial]) -> Status | None:
        """Runs PlacementScore on the placements in which the group fits."""
        plugins = self._profile.points[PLACEMENT_SCORE]
        scores: dict[str, dict[str, int]] = {}
        for plugin in plugins:
            scores[plugin.name] = {}
            for trial in fitting:
                score = plugin.score_placement(self._state, self._group, _assignments(trial))
                if isinstance(score, Status):
                    return _failed(PLACEMENT_SCORE, plugin.name, score.message)
                scores[plugin.name][_name(trial)] = int(score)
        for plugin in plugins:
            status = plugin.normalize_placement_score(self._state, self._group, scores[plugin.name])
            if status is not None and status.code:
                return _failed("normalizePlacements", plugin.name, status.message)
        for plugin in plugins:
            for score in scores[plugin.name].values():
                if not 0 <= score <= _MAX_SCORE:
                    return _failed("weighPlacements", plugin.name, str(score))
        weights = self._profile.placement_weights
        for trial in fitting:
            weighted = {name: weights[name] * by_name[_name(trial)] for name, by_name in scores.items()}
            self.scored[_name(trial)] = ScoredPlacement(weighted, sum(weighted.values()))
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
