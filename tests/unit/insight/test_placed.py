"""The explanation of a placed pod: winner and runner-up, causes, ties, and no trace in the cluster."""

from __future__ import annotations

import numpy as np
from tests.builders import ZONE, World, near, node, pod, profile_config, term, weighted

from stowplan.framework import Pod
from stowplan.framework.explanation import PlacedExplanation
from stowplan.insight.explain import run
from stowplan.insight.placed import explain_placed


def placed(world: World, name: str = "web", **more: object) -> PlacedExplanation:
    found: Pod = world.cluster.pods[f"default/{name}"]
    return run(explain_placed(world.profile, found, **more))  # type: ignore[arg-type]


def test_the_winner_is_compared_with_the_runner_up() -> None:
    world = World(
        [node("large", cpu="16", memory="64Gi"), node("small", cpu="4", memory="16Gi")],
        [pod("web", "large", requests={"cpu": "2", "memory": "8Gi"})],
    )
    answer = placed(world)
    assert (answer.winner, answer.second, answer.feasible) == ("large", "small", 2)
    assert answer.sentence.startswith("If it were placed again now, large would win with ")
    assert " ahead of small, because NodeResourcesFit prefers it (" in answer.sentence
    assert answer.more == ("2 of 2 nodes would do. No other node has " + answer.more[0].split("has ")[1],)
    assert sum(each.winner.weighted for each in answer.points) == answer.ranking[0].points
    assert answer.as_of.recomputed


def test_the_pods_node_is_compared_where_another_one_wins() -> None:
    world = World(
        [node("large", cpu="16", memory="64Gi"), node("middle", cpu="8"), node("small", cpu="4", memory="16Gi")],
        [pod("web", "small", requests={"cpu": "2"})],
    )
    answer = placed(world)
    assert (answer.node, answer.winner, answer.second) == ("small", "large", "small")
    assert "ahead of small, its node" in answer.sentence


def test_preferred_pods_are_a_cause() -> None:
    affinity = near(preferred=[weighted(100, term(ZONE, app="cache"))])
    world = World(
        [node("a", zone="z1"), node("b", zone="z2")],
        [pod("cache", "a", labels={"app": "cache"}), pod("web", "a", affinity=affinity, requests={"cpu": "1"})],
    )
    assert "because more of the pods that it prefers to be near are there (" in placed(world).sentence


def test_ties_are_left_to_chance() -> None:
    world = World([node(name) for name in "abcd"], [pod("web", "b", requests={"cpu": "1"})])
    answer = placed(world)
    assert answer.winner == "b"
    assert answer.tied == ("a", "b", "c", "d")
    assert answer.more[0].endswith("points (a, b, c and 1 more); chance chooses one of them.")
    assert ", as many as a." in answer.sentence


def test_the_only_node_gets_no_points() -> None:
    world = World([node("a"), node("b", unschedulable=True)], [pod("web", "a")])
    answer = placed(world)
    assert answer.sentence == (
        "If it were placed again now, a would be the only node that does, so no points are given."
    )
    assert answer.points == ()


def test_a_node_that_would_not_do_any_more_is_named() -> None:
    world = World([node("a", unschedulable=True), node("b"), node("c")], [pod("web", "a")])
    assert placed(world).more[0] == "a, on which it is, would not do now."
    world = World([node("a", unschedulable=True)], [pod("web", "a")])
    assert placed(world).sentence == "If it were placed again now, no node would do."


def test_sampling_is_mentioned() -> None:
    config = profile_config(percentageOfNodesToScore=10)
    world = World([node(f"n{number}") for number in range(150)], [pod("web", "n0")], config=config)
    assert "A scheduling cycle stops after 100 nodes that do (percentageOfNodesToScore)" in placed(world).more[-1]


def test_a_recorded_decision_is_explained_as_it_was() -> None:
    world = World([node("large", cpu="16", memory="64Gi"), node("small", cpu="4")])
    record = world.decide(pod("web", requests={"cpu": "1"})).record()
    world.add_pod(pod("web", record.node, requests={"cpu": "1"}))
    world.add_pod(pod("other", "large", requests={"cpu": "15"}))
    answer = placed(world, decision=record)
    assert answer.sentence.startswith(f"{record.node} won with {record.totals[record.node]} points, ")
    assert answer.more[0].startswith("2 of 2 nodes would have done.")
    assert not answer.as_of.recomputed
    assert answer.again is not None
    assert answer.again.node == "small"


def test_the_cluster_is_as_before() -> None:
    nodes = [node(f"n{number}", zone=f"z{number % 2}") for number in range(5)]
    pods = [pod(f"p{number}", f"n{number}", requests={"cpu": "1"}, labels={"app": "a"}) for number in range(5)]
    world, other = World(nodes, pods), World(nodes, pods)
    explained = world.cluster.pods["default/p3"]
    run(explain_placed(world.profile, explained))
    assert explained.node_name == "n3"
    assert [list(info.pods) for info in world.cluster.nodes.infos if info] == [
        list(info.pods) for info in other.cluster.nodes.infos if info
    ]
    for resource in ("cpu", "memory"):
        ours, theirs = (each.cluster.nodes.resource(resource)[1].array for each in (world, other))
        assert np.array_equal(ours, theirs)
    assert world.rng.getstate() == other.rng.getstate()
    item = pod("next", requests={"cpu": "1"})
    assert [world.decide(item).node_name for _ in range(5)] == [other.decide(item).node_name for _ in range(5)]
