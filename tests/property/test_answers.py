"""Answers about placed pods and about nodes: thresholds and changes hold, and the cluster stays as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.builders import World
from tests.conformance.recorded import recorded
from tests.property.facts import columns

from stowplan.evaluation.case import Case
from stowplan.framework import NodeInfo, Pod
from stowplan.insight.altered import status_on
from stowplan.insight.closest import applied
from stowplan.insight.explain import explain, run
from stowplan.insight.placed import explain_placed, taken_off
from stowplan.insight.points import Points
from stowplan.insight.why_not import why_not
from stowplan.runtime import Profile
from stowplan.runtime.decide.diagnosis import Diagnosis

CATEGORIES = ("images", "mixed", "nodeaff", "podaff", "ports", "preempt2", "resources", "spread", "storage", "taints")
CASES_PER_CATEGORY = 20
NODES_PER_CASE = 3


def cases(category: str) -> Iterator[Case]:
    for row in recorded(category)[:: 150 // CASES_PER_CATEGORY]:
        if "preEnqueue" not in row.expect:
            yield row.read()


def placed(case: Case) -> tuple[World, Profile, Pod, bool]:
    """The cluster of a case with its pod on the chosen node, if there is one."""
    world, pod = World.of_case(case)
    profile = world.profiles[case.pod.spec.scheduler_name]
    chosen = profile.decide(pod).node_name
    if chosen:
        world.cluster.assume(pod, chosen)
    return world, profile, pod, bool(chosen)


def infos(world: World) -> list[NodeInfo]:
    return [info for info in world.cluster.nodes.infos if info is not None][:NODES_PER_CASE]


def best_nodes(profile: Profile, pod: Pod) -> set[str]:
    with taken_off(profile, pod) as unassigned:
        points = Points.of(Diagnosis(profile, unassigned, plain=True).run())
    return {points.names[each] for each in points.best()}


@pytest.mark.parametrize("category", CATEGORIES)
def test_another_node_wins_with_the_weight_that_is_named(category: str) -> None:
    for case in cases(category):
        _, profile, pod, found = placed(case)
        if not found:
            continue
        answer = run(explain_placed(profile, pod))
        scorers = profile.scorers
        for each in answer.thresholds if not answer.tied else ():
            for weight, wins in ((each.at_least or each.at_most, True), (_before(each.at_least, each.at_most), False)):
                profile.scorers = tuple(
                    (plugin, weight if plugin.name == each.plugin else other) for plugin, other in scorers
                )
                assert (each.wins in best_nodes(profile, pod)) == wins
            profile.scorers = scorers


@pytest.mark.parametrize("category", CATEGORIES)
def test_points_without_the_pod_are_those_before_it_came(category: str) -> None:
    for case in cases(category):
        world, pod = World.of_case(case)
        profile = world.profiles[case.pod.spec.scheduler_name]
        pod.nominated_node_name = ""
        decision = profile.decide(pod)
        if not decision.node_name:
            continue
        before = decision.record()
        world.cluster.assume(pod, decision.node_name)
        profile.decide(Pod(pod.template, "next", "next", pod.labels))
        with taken_off(profile, pod) as unassigned:
            after = Points.of(Diagnosis(profile, unassigned, plain=True).run())
        assert sorted(after.names) == sorted(before.feasible)
        if len(after.names) > 1:
            assert dict(zip(after.names, after.total.tolist(), strict=True)) == before.totals


def _before(at_least: int, at_most: int) -> int:
    return at_least - 1 if at_least else at_most + 1


@pytest.mark.parametrize("category", CATEGORIES)
def test_changes_of_why_not_make_the_node_feasible(category: str) -> None:
    for case in cases(category):
        world, profile, pod, _ = placed(case)
        for info in infos(world):
            answer = run(why_not(profile, pod, info))
            with taken_off(profile, pod) as unassigned:
                assert answer.fits == (status_on(profile, unassigned, info) is None)
                for each in answer.changes:
                    with applied(profile, unassigned, info, (each.change,)) as (altered, changed):
                        if each.change.on != "cluster" or not each.change.text.count(" and "):
                            assert status_on(profile, altered, changed) is None


@pytest.mark.parametrize("category", CATEGORIES)
def test_answers_leave_the_cluster_as_it_was(category: str) -> None:
    for case in cases(category):
        world, profile, pod, found = placed(case)
        other, twin_profile, twin, _ = placed(case)
        before = columns(world.cluster)
        random = world.rng.getstate()
        if found:
            run(explain_placed(profile, pod))
        else:
            run(explain(profile, pod))
        for info in infos(world):
            run(why_not(profile, pod, info))
        assert columns(world.cluster) == before
        assert world.rng.getstate() == random
        for number in range(5):
            ours = profile.decide(Pod(pod.template, f"next-{number}", f"next-{number}", pod.labels))
            theirs = twin_profile.decide(Pod(twin.template, f"next-{number}", f"next-{number}", twin.labels))
            assert (ours.node_name, ours.message) == (theirs.node_name, theirs.message)
            if ours.node_name:
                world.cluster.assume(ours.pod, ours.node_name)
                other.cluster.assume(theirs.pod, theirs.node_name)
