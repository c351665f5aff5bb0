"""The beginning of sentences: what selectors and other pods leave; and nodes that one relation alone rejects."""

from __future__ import annotations

from typing import Any

from tests.builders import HOSTNAME, ZONE, World, away, near, node, pod, spread, term

from stowplan.framework import Explanation
from stowplan.insight.explain import explain, run
from stowplan.insight.sentences.forced import Forced

A = {"app": "a"}


def explained(world: World, **spec: Any) -> Explanation:
    return run(explain(world.profile, world.pod(pod("new", **spec))))


def test_few_nodes_of_a_selector_begin_the_sentence() -> None:
    nodes = [node(f"n{number}") for number in range(19)] + [node("g1", labels={"pool": "gpu"})]
    answer = explained(World(nodes), nodeSelector={"pool": "gpu"}, requests={"cpu": "5"})
    assert answer.sentence == "May use node g1 only, and asks for 5 CPU; the only node has 4."
    assert answer.because is not None
    assert answer.because.forced_by is None


def test_many_nodes_of_a_selector_are_not_worth_saying() -> None:
    nodes = [node(f"n{number}") for number in range(8)] + [node(f"g{n}", labels={"pool": "gpu"}) for n in range(2)]
    answer = explained(World(nodes), nodeSelector={"pool": "gpu"}, requests={"cpu": "5"})
    assert answer.sentence == "Asks for 5 CPU; the largest of 2 nodes has 4."


def test_selected_nodes_that_are_also_cordoned() -> None:
    gpus = [node(f"g{number}", labels={"pool": "gpu"}, unschedulable=number > 1) for number in range(4)]
    answer = explained(
        World([node(f"n{number}") for number in range(26)] + gpus), nodeSelector={"pool": "gpu"}, requests={"cpu": "5"}
    )
    assert answer.sentence == (
        "Of the 2 nodes with pool=gpu that it may use, none fits: asks for 5 CPU; the largest of 2 nodes has 4."
    )


def test_nodes_that_taints_leave() -> None:
    taints = [{"key": "team", "effect": "NoSchedule"}]
    nodes = [node(f"n{number}", taints=taints) for number in range(19)] + [node("open")]
    answer = explained(World(nodes), requests={"cpu": "5"})
    assert answer.sentence == "May use node open only, and asks for 5 CPU; the only node has 4."


def test_a_selector_and_a_relation() -> None:
    gpus = [node(f"g{zone}", zone=zone, labels={"pool": "gpu"}) for zone in "xy"]
    world = World([node(f"n{number}", zone="x") for number in range(28)] + gpus, [pod("p", "gy", labels=A)])
    answer = explained(
        world, labels=A, nodeSelector={"pool": "gpu"}, topologySpreadConstraints=[spread()], requests={"cpu": "5"}
    )
    assert answer.sentence == (
        "Of the 2 nodes with pool=gpu, it must go to x to keep zones even, and asks for 5 CPU; the only node has 4."
    )


def test_two_relations_are_both_told() -> None:
    world = World(
        [node("x1", zone="x"), node("x2", zone="x"), node("y1", zone="y"), node("y2", zone="y")],
        [pod("p", "x1", labels=A), pod("q", "x2", labels={"app": "b"})],
    )
    affinity = near(term()) | away(term(HOSTNAME, app="b"))
    answer = explained(world, affinity=affinity, requests={"cpu": "5"})
    assert answer.sentence == (
        "Must go to x to be near app=a, must not share a node with app=b, and asks for 5 CPU; the only node has 4."
    )
    assert answer.because is not None
    forced_by = answer.because.forced_by
    assert forced_by is not None
    assert forced_by.forced_by is not None
    assert (forced_by.id, forced_by.forced_by.id) == ("anti-affinity.own", "pod-affinity.unmet")
    assert (forced_by.nodes, forced_by.forced_by.nodes) == (2, 4)


def test_a_relation_that_removes_few_nodes_is_not_told() -> None:
    world = World([node(f"n{number}") for number in range(5)], [pod("p", "n0", labels=A)])
    answer = explained(world, affinity=away(term(HOSTNAME)), requests={"cpu": "5"})
    assert answer.sentence == "Asks for 5 CPU; the largest of 4 nodes has 4."
    assert answer.because is not None
    assert answer.because.forced_by is not None


def test_more_than_three_domains_are_not_listed() -> None:
    world = World([node(f"n{zone}", zone=zone) for zone in "vwxyz"], [pod("p", "nz", labels=A)])
    answer = explained(world, labels=A, topologySpreadConstraints=[spread()], requests={"cpu": "5"})
    assert answer.sentence == "Asks for 5 CPU; the largest of 4 nodes has 4."
    assert answer.because is not None
    assert answer.because.forced_by is not None
    assert answer.because.forced_by.facts["topologyKey"] == ZONE


def test_three_domains_are_alternatives() -> None:
    world = World([node(f"n{zone}", zone=zone) for zone in "wxyz"], [pod("p", "nz", labels=A)])
    answer = explained(world, labels=A, topologySpreadConstraints=[spread()], requests={"cpu": "5"})
    assert answer.sentence.startswith("Must go to w, x or y to keep zones even, and asks for 5 CPU; ")


def test_many_nodes_as_domains_have_no_figures() -> None:
    nodes = [node(f"n{number:03}") for number in range(70)] + [node("small", cpu="1")]
    world = World(nodes, [pod(f"p{number}", f"n{number:03}", labels=A) for number in range(70)])
    answer = explained(world, labels=A, topologySpreadConstraints=[spread(HOSTNAME)], requests={"cpu": "2"})
    assert answer.sentence == "Must go to small to keep nodes even, and asks for 2 CPU; the only node has 1."
    assert answer.more[0] == (
        "70 nodes have room, but those nodes hold more pods with app=a than small, and maxSkew allows 1."
    )


def test_too_few_domains_in_the_second_sentence() -> None:
    world = World(
        [node("x1", zone="x", cpu="1"), node("y1", zone="y"), node("y2", zone="y")], [pod("p", "y1", labels=A)]
    )
    answer = explained(world, labels=A, topologySpreadConstraints=[spread(minDomains=3)], requests={"cpu": "2"})
    assert answer.sentence == "Must go to x to keep zones even, and asks for 2 CPU; the only node has 1."
    assert answer.more[0] == (
        "2 nodes of y have room, but that zone holds 1 more pod with app=a than the emptiest, which counts as 0 "
        "because minDomains is 3, one more would make the difference 2, and maxSkew allows 1."
    )


def test_names_of_plugins_keep_their_capital() -> None:
    forced = Forced("Must go to x, and", None)
    assert forced.begin("NodePorts rejects it.") == "Must go to x, and NodePorts rejects it."
    assert forced.begin("Needs 1 CPU.") == "Must go to x, and needs 1 CPU."
    assert Forced("", None).begin("Needs 1 CPU.") == "Needs 1 CPU."
