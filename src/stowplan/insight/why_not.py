"""Why a pod is not on a node: the rules of all plugins, changes that make the node feasible, and its rank.

A pod that has a node is taken off it by the journal within each slice, and put back before the next one.
"""

from __future__ import annotations

from typing import NamedTuple

from stowplan.framework import Change, Code, NodeInfo, Pod, Refusal, Status
from stowplan.framework.explanation import (
    EXPLANATION_VERSION,
    AsOf,
    CheckedChange,
    Rule,
    Standing,
    WhyNot,
)
from stowplan.insight.altered import status_on
from stowplan.insight.closest import applied, joined, ways_of
from stowplan.insight.explain import explained_pod
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.placed import taken_off
from stowplan.insight.plugin_words import pod_refusals
from stowplan.insight.points import Points
from stowplan.insight.slices import Slices, run
from stowplan.insight.steps import rank_of
from stowplan.insight.thresholds import winning_weights
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.profile.profile import Profile

RESOURCES = "NodeResourcesFit"
_MAX_CHECKED_WAYS = 8


def why_not(profile: Profile, pod: Pod, info: NodeInfo) -> Slices[WhyNot]:
    """The rules of all plugins about one node."""
    with taken_off(profile, pod) as unassigned:
        matrix = FilterMatrix(profile, unassigned)
        if matrix.pod_status is not None:
            return _refused_pod(matrix, info, pod, matrix.pod_status)
        rules = _Rules(matrix, info)
        refusals = matrix.refusals_of(info)
        ways = run(ways_of(matrix, info, refusals)) if refusals else []
    yield
    if not refusals:
        found = yield from _would_do(profile, pod, info, rules)
        return found if found is not None else (yield from why_not(profile, pod, info))
    changes = []
    for way in ways[:_MAX_CHECKED_WAYS]:
        with taken_off(profile, pod) as unassigned:
            then = _standing_after(profile, unassigned, info, way)
        if then is not None:
            changes.append(CheckedChange(change=way[0] if len(way) == 1 else joined(way), then=then))
        yield
    return WhyNot(
        version=EXPLANATION_VERSION,
        as_of=AsOf(recomputed=True),
        pod=explained_pod(pod),
        node=info.name,
        fits=False,
        sentence=_rejection(pod, info, refusals, rules.found),
        more=tuple(dict.fromkeys(note for refusal in refusals for note in refusal.notes)) + _gates(profile, pod),
        rules=rules.found,
        silent=rules.silent,
        not_run=rules.not_run,
        changes=tuple(changes),
    )


class _Rules:
    """The rules about one node in the order of an explanation."""

    def __init__(self, matrix: FilterMatrix, info: NodeInfo) -> None:
        self._matrix = matrix
        self._info = info
        statuses = dict(matrix.statuses_of(info.slot))
        names = {**dict.fromkeys(plugin.name for plugin in matrix.profile.filters), **dict.fromkeys(statuses)}
        order = sorted(names, key=lambda name: rank_of(matrix, name, statuses.get(name, _PASSED)).number)
        self.not_run = self._left_out(set(statuses))
        found: dict[str, list[Rule]] = {name: self._of(name, name in statuses) for name in order}
        self.found = tuple(rule for rules in found.values() for rule in rules)
        self.silent = tuple(name for name, rules in found.items() if not rules and name not in self.not_run)

    def _of(self, name: str, rejects: bool) -> list[Rule]:
        plugin, state = self._matrix.plugin(name), self._matrix.state
        asks = plugin is not None and name not in state.skip_filter and name not in self.not_run
        wants = plugin.requirement(state, self._matrix.pod, self._info) if asks and plugin is not None else None
        if not rejects:
            return [] if wants is None else [Rule(plugin=name, ok=True, wanted=wants.wanted, there=wants.there)]
        return [_rule(refusal) for refusal in self._matrix.explain(name, self._info)]

    def _left_out(self, rejecting: set[str]) -> tuple[str, ...]:
        """Out-of-tree plugins after the first plugin that rejects the node."""
        rejected, left_out = False, []
        for plugin in self._matrix.profile.filters:
            if rejected and isinstance(plugin, OutOfTreePlugin) and plugin.name not in rejecting:
                left_out.append(plugin.name)
            rejected = rejected or plugin.name in rejecting
        return tuple(left_out)


_PASSED = Status(Code.Success)


def _rule(refusal: Refusal) -> Rule:
    return Rule(
        plugin=refusal.plugin,
        ok=False,
        id=refusal.id,
        wanted=refusal.wanted,
        there=refusal.there,
        text=refusal.text,
        facts=refusal.facts,
    )


def _rejection(pod: Pod, info: NodeInfo, refusals: list[Refusal], rules: tuple[Rule, ...]) -> str:
    texts = "; ".join(dict.fromkeys(refusal.text for refusal in refusals))
    if any(refusal.plugin == RESOURCES for refusal in refusals):
        start = f"{info.name} has no room for {pod.key}"
        return f"{start}: {texts}." if len(refusals) == 1 else f"{start}, among other reasons: {texts}."
    has_room = any(rule.plugin == RESOURCES and rule.ok for rule in rules)
    if has_room:
        return f"{info.name} has room for {pod.key}, but does not take it: {texts}."
    return f"{info.name} does not take {pod.key}: {texts}."


def _standing_after(profile: Profile, pod: Pod, info: NodeInfo, way: tuple[Change, ...]) -> Standing | None:
    """The rank of the node after the changes; None if the pod does not fit there even so."""
    try:
        with applied(profile, pod, info, way) as (altered, changed):
            if status_on(profile, altered, changed) is not None:
                return None
            points = Points.of(Diagnosis(profile, altered, plain=True).run())
    except CycleError:
        return None
    position = points.position(info.name)
    return None if position is None else points.standing(position)


class _Scored(NamedTuple):
    points: Points
    position: int


def _score(profile: Profile, pod: Pod, info: NodeInfo) -> Slices[_Scored | None]:
    """None if the node would not do any more: the cluster has changed between slices."""
    with taken_off(profile, pod) as unassigned:
        diagnosis = Diagnosis(profile, unassigned, plain=True).run()
    yield
    with taken_off(profile, pod):
        points = Points.of(diagnosis)
    yield
    position = points.position(info.name)
    return None if position is None else _Scored(points, position)


def _would_do(profile: Profile, pod: Pod, info: NodeInfo, rules: _Rules) -> Slices[WhyNot | None]:
    scored = yield from _score(profile, pod, info)
    if scored is None:
        return None
    points, position = scored
    standing = points.standing(position)
    other = points.position(standing.first)
    return WhyNot(
        version=EXPLANATION_VERSION,
        as_of=AsOf(recomputed=True),
        pod=explained_pod(pod),
        node=info.name,
        fits=True,
        sentence=_rank_in_words(pod, info, standing),
        more=_gates(profile, pod),
        rules=rules.found,
        silent=rules.silent,
        not_run=rules.not_run,
        standing=standing,
        points=() if other is None else points.compared(other, position),
        thresholds=winning_weights(points, position),
    )


def _rank_in_words(pod: Pod, info: NodeInfo, standing: Standing) -> str:
    start = f"{pod.key} is on {info.name}. Placed again now, it" if pod.node_name == info.name else info.name
    figures = f"{standing.points:,} points"
    here = pod.node_name == info.name
    if not standing.first:
        return f"{start} would {'go to the only node that does' if here else 'do, and is the only node that does'}."
    if standing.behind == 0:
        return f"{start} would {'have an equal choice' if here else 'do'}: {figures}, as many as {standing.first}."
    if standing.behind < 0:
        ahead = f"{figures}, {-standing.behind:,} ahead of {standing.first}"
        return f"{start} would {'go there again' if here else f'do for {pod.key}, and would be chosen'}: {ahead}."
    rank = "second" if standing.rank == 2 else f"number {standing.rank:,} of {standing.of:,}"
    behind = f"{figures}, {standing.behind:,} behind {standing.first}"
    if here:
        return f"{start} would go to {standing.first}: {info.name} is {rank} with {behind}."
    return f"{info.name} would do for {pod.key}, and is {rank}: {behind}."


def _gates(profile: Profile, pod: Pod) -> tuple[str, ...]:
    """A sentence about a pod that PreEnqueue keeps out of the queue."""
    status = None if pod.node_name else profile.pre_enqueue(pod)
    return () if status is None else (f"The pod is not scheduled yet, {status.message} ({status.plugin}).",)


def _refused_pod(matrix: FilterMatrix, info: NodeInfo, pod: Pod, status: Status) -> WhyNot:
    """PreFilter rejects the pod as a whole."""
    refusals = pod_refusals(matrix, status)
    text = refusals[0].text
    return WhyNot(
        version=EXPLANATION_VERSION,
        as_of=AsOf(recomputed=True),
        pod=explained_pod(pod),
        node=info.name,
        fits=False,
        sentence=f"No node takes {pod.key}: {text}.",
        more=refusals[0].notes,
        rules=tuple(_rule(refusal) for refusal in refusals),
        not_run=tuple(plugin.name for plugin in matrix.profile.filters if plugin.name != status.plugin),
    )
