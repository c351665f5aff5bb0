"""The explanation of a pod on a node: the winner against the runner-up, in points and in words.

Without the record of the decision, the pod is taken off its node by the journal and placed again as the cluster is now;
the journal puts it back within the same slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from msgspec.structs import replace

from stowplan.framework import CycleState, DecisionRecord, Pod
from stowplan.framework.explanation import (
    EXPLANATION_VERSION,
    AsOf,
    PlacedAgain,
    PlacedExplanation,
    PluginPoints,
)
from stowplan.insight.explain import explained_pod
from stowplan.insight.points import Points
from stowplan.insight.slices import Slices, run
from stowplan.insight.thresholds import other_winners, without_plugins
from stowplan.runtime.decide.decision import Decision, best_slots
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.profile.profile import Profile

_MAX_CAUSES = 2
_MAIN_SHARE = 0.8
"""Causes are named until they make up this share of the points ahead."""
_MAX_TIED_NAMES = 3

_CAUSES = {
    "TaintToleration": "it has fewer taints that the pod does not tolerate",
    "NodeAffinity": "it meets more of the pod's preferences",
    "PodTopologySpread": "its domain has fewer of the pods to spread",
    "InterPodAffinity": "more of the pods that it prefers to be near are there",
    "ImageLocality": "the image is there",
    "NodeResourcesBalancedAllocation": "its use would be more even",
}


@contextmanager
def taken_off(profile: Profile, pod: Pod) -> Iterator[Pod]:
    """The pod without a node: off the node's sums for the time of the block, and free of its nomination."""
    cluster = profile.cluster
    unassigned = Pod(pod.template, pod.name, pod.uid, pod.labels, generation=pod.generation)
    unassigned.source = pod.source
    if hasattr(pod, "details"):
        unassigned.details = pod.details
    with cluster.what_if() as journal:
        info = cluster.nodes.get(pod.node_name)
        if info is not None and pod.uid in info.pods:
            journal.remove(info.pods[pod.uid], info)
        yield unassigned


class _Placement(NamedTuple):
    """The nodes that would do for the pod, with their points."""

    points: Points | None
    """None if no node would do."""
    chosen: str
    words: dict[tuple[str, str], str]
    evaluated: int


def explain_placed(
    profile: Profile, pod: Pod, *, top: int = 5, decision: DecisionRecord | PlacedExplanation | None = None
) -> Slices[PlacedExplanation]:
    """Why the pod is on its node: from the recorded decision, or as if the pod were placed again now."""
    again = yield from _place_again(profile, pod)
    yield
    if isinstance(decision, PlacedExplanation):
        return replace(decision, again=_again(again, pod.node_name))
    if decision is not None and decision.node:
        weights = {plugin.name: weight for plugin, weight in profile.scorers}
        points = Points.recorded(decision, weights)
        placement = _Placement(points, decision.node, {}, sum(1 for _ in decision.rejected) + len(points.names))
    else:
        placement = again
    if placement.points is None:
        return _no_node(profile, pod)
    yield
    explanation = yield from _explanation(profile, pod, placement, placement.points, top, recomputed=placement is again)
    if placement is not again:
        explanation = replace(explanation, again=_again(again, pod.node_name), decision=decision)
    yield
    return explanation


def explain_decided(decision: Decision, *, top: int = 5) -> PlacedExplanation | None:
    """The explanation of a decision before it takes effect; None if the pod gets no node, or not one of the best."""
    pod = decision.pod
    placed = Pod(pod.template, pod.name, pod.uid, pod.labels, decision.node_name, pod.nominated_node_name)
    placement = run(_place_again(decision.profile, placed)) if decision.node_name else None
    if placement is None or placement.points is None or placement.chosen != decision.node_name:
        return None
    return run(_explanation(decision.profile, placed, placement, placement.points, top, recomputed=False))


def _place_again(profile: Profile, pod: Pod) -> Slices[_Placement]:
    """Filters, scores and words, each in a slice of its own with the pod off its node."""
    try:
        with taken_off(profile, pod) as unassigned:
            diagnosis = Diagnosis(profile, unassigned, plain=True).run()
        evaluated = len(diagnosis.examined)
        if not len(diagnosis.feasible):
            return _Placement(None, "", {}, evaluated)
        yield
        with taken_off(profile, pod):
            points = Points.of(diagnosis)
    except CycleError:
        return _Placement(None, "", {}, 0)
    yield
    chosen = _chosen(points, pod.node_name, diagnosis)
    compared = {chosen, _second(points, chosen, pod.node_name), pod.node_name}
    yield
    with taken_off(profile, pod):
        return _Placement(points, chosen, _words(profile, diagnosis.state, unassigned, compared), evaluated)


def _chosen(points: Points, present: str, diagnosis: Diagnosis) -> str:
    """The node that is chosen; of equal nodes the present one."""
    best = [points.names[each] for each in points.best()]
    if present in best or len(best) == 1:
        return present if present in best else best[0]
    info = diagnosis.profile.cluster.nodes.infos[int(best_slots(diagnosis)[0])]
    return best[0] if info is None else info.name


def _second(points: Points, chosen: str, present: str) -> str:
    """The node to compare with: the runner-up, or the pod's node where another node is chosen."""
    if chosen != present and present in points.names:
        return present
    return next((points.names[each] for each in points.order(2) if points.names[each] != chosen), "")


def _words(profile: Profile, state: CycleState, pod: Pod, names: set[str]) -> dict[tuple[str, str], str]:
    """The plugins' words about their scores, by (plugin, node)."""
    infos = [info for name in names if (info := profile.cluster.nodes.get(name)) is not None]
    return {
        (plugin.name, info.name): plugin.explain_score(state, pod, info)
        for plugin, _ in profile.scorers
        if plugin.name not in state.skip_score
        for info in infos
    }


def _explanation(
    profile: Profile, pod: Pod, placement: _Placement, points: Points, top: int, *, recomputed: bool
) -> Slices[PlacedExplanation]:
    chosen = placement.chosen
    winner = points.position(chosen)
    assert winner is not None
    second = _second(points, chosen, pod.node_name)
    compared = points.compared(winner, points.position(second), placement.words)
    tied = tuple(points.names[each] for each in points.best())
    nodes = len(profile.cluster.nodes)
    yield
    thresholds = yield from other_winners(points, winner)
    without = yield from without_plugins(points)
    return PlacedExplanation(
        version=EXPLANATION_VERSION,
        as_of=AsOf(recomputed=recomputed),
        pod=explained_pod(pod),
        node=pod.node_name,
        winner=chosen,
        second=second,
        sentence=_sentence(points, winner, second, compared, pod.node_name, recomputed=recomputed),
        more=tuple(_more(profile, pod, points, tied, placement, nodes, recomputed=recomputed)),
        nodes=nodes,
        feasible=len(points.names),
        evaluated=placement.evaluated,
        tied=tied if len(tied) > 1 else (),
        ranking=points.ranking(top),
        points=compared,
        thresholds=thresholds,
        without=without,
    )


def _sentence(
    points: Points, winner: int, second: str, compared: Sequence[PluginPoints], present: str, *, recomputed: bool
) -> str:
    name = points.names[winner]
    start = f"If it were placed again now, {name}" if recomputed else name
    wins = "would win" if recomputed else "won"
    if not second:
        only = "would be the only node that does" if recomputed else "was the only node that would do"
        return f"{start} {only}, so no points {'are' if recomputed else 'were'} given."
    ahead = int(points.total[winner]) - int(points.total[points.names.index(second)])
    total = f"with {int(points.total[winner]):,} points"
    if not ahead:
        return f"{start} {wins} {total}, as many as {second}."
    its = ", its node" if second == present else ""
    return f"{start} {wins} {total}, {ahead:,} ahead of {second}{its}{causes(compared)}."


def causes(compared: Sequence[PluginPoints]) -> str:
    """The plugins that make most of the difference, in words."""
    ahead = sorted((each for each in compared if each.difference > 0), key=lambda each: -each.difference)
    whole = sum(each.difference for each in ahead)
    named: list[PluginPoints] = []
    for each in ahead[:_MAX_CAUSES]:
        if sum(known.difference for known in named) < _MAIN_SHARE * whole:
            named.append(each)
    if not named:
        return ""
    return f", {'' if len(ahead) == 1 else 'mostly '}because " + " and ".join(map(_cause, named))


def _cause(points: PluginPoints) -> str:
    known = _CAUSES.get(points.plugin)
    words = points.winner.text
    figure = f"+{points.difference:,}"
    if known is not None:
        return f"{known} ({words}, {figure})" if words else f"{known} ({figure})"
    return f"{points.plugin} prefers it ({words}, {figure})" if words else f"{points.plugin} prefers it ({figure})"


def _more(
    profile: Profile,
    pod: Pod,
    points: Points,
    tied: tuple[str, ...],
    placement: _Placement,
    nodes: int,
    *,
    recomputed: bool,
) -> Iterator[str]:
    present, count = pod.node_name, len(points.names)
    if present not in points.names:
        yield f"{present}, on which it is, would not do now."
    if count > 1:
        would = "would do" if recomputed else "would have done"
        yield f"{count:,} of {nodes:,} nodes {would}. {_chance(tied, int(points.total.max()), recomputed=recomputed)}"
    if pod.nominated_node_name == present and present:
        yield f"Room was made for it on {present} by evictions."
    if profile.sampler is not None and placement.evaluated:
        wanted = profile.sampler.wanted(nodes)
        if wanted < count:
            yield (
                f"A scheduling cycle stops after {wanted:,} nodes that do (percentageOfNodesToScore); here all are "
                "compared."
            )


def _chance(tied: tuple[str, ...], points: int, *, recomputed: bool) -> str:
    if len(tied) == 1:
        has, plays = ("has", "plays") if recomputed else ("had", "played")
        return f"No other node {has} {points:,} points, so chance {plays} no part."
    names = ", ".join(tied[:_MAX_TIED_NAMES])
    rest = f" and {len(tied) - _MAX_TIED_NAMES:,} more" if len(tied) > _MAX_TIED_NAMES else ""
    have, chooses = ("have", "chooses") if recomputed else ("had", "chose")
    return f"{len(tied):,} nodes {have} {points:,} points ({names}{rest}); chance {chooses} one of them."


def _again(placement: _Placement, present: str) -> PlacedAgain:
    points = placement.points
    if points is None:
        return PlacedAgain()
    second = _second(points, placement.chosen, present)
    chosen = points.names.index(placement.chosen)
    by = int(points.total[chosen] - points.total[points.names.index(second)]) if second else 0
    return PlacedAgain(node=placement.chosen, by=by)


def _no_node(profile: Profile, pod: Pod) -> PlacedExplanation:
    more = f"stowplan why-not {pod.key} {pod.node_name} shows the rules."
    return not_compared(profile, pod, "If it were placed again now, no node would do.", more)


def not_compared(profile: Profile, pod: Pod, sentence: str, *more: str) -> PlacedExplanation:
    """The explanation of a placed pod without points."""
    return PlacedExplanation(
        version=EXPLANATION_VERSION,
        as_of=AsOf(recomputed=True),
        pod=explained_pod(pod),
        node=pod.node_name,
        sentence=sentence,
        more=more,
        nodes=len(profile.cluster.nodes),
    )
