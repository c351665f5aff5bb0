from typing import Any

import pytest
from tests.builders import World, node, pod
from tests.extenders import FakeExtender

from stowplan.framework import Failure
from stowplan.framework.extender import ExtenderMetaVictims, Filtered
from stowplan.framework.instructions import Together
from stowplan.runtime import Decision
from stowplan.runtime.decide.sampling import Rotation, Sampler


def drive(steps: Any) -> Any:
    """Run a decision to its end, answering as the extenders that it asks do."""
    answer = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(request, Together):
            answer = [drive(each) for each in request.coroutines]
        else:
            answer = request.extender.answer(request)


def decide(world: World, item: dict[str, Any], *extenders: FakeExtender) -> Decision:
    world.profile.extenders = extenders
    decision = drive(world.profile.decide_with_extenders(world.pod(item)))
    assert isinstance(decision, Decision)
    return decision


def only(*names: str) -> Any:
    return lambda pod, nodes: Filtered(
        [name for name in nodes if name in names], {n: "busy" for n in nodes if n not in names}
    )


def test_filters_run_in_turn_and_see_what_is_left() -> None:
    first, second = FakeExtender(filter=only("a", "b")), FakeExtender(filter=only("b"))
    decision = decide(World([node("a"), node("b"), node("c")]), pod("p"), first, second)
    assert decision.node_name == "b"
    assert first.asked == [("filter", "p", ["a", "b", "c"])]
    assert second.asked == [("filter", "p", ["a", "b"])]


def test_refusals_are_told_and_remembered_as_the_extenders() -> None:
    hopeless = FakeExtender(filter=lambda pod, nodes: Filtered([], {"a": "busy", "b": "busy"}, {"b": "broken"}))
    decision = decide(World([node("a"), node("b")]), pod("p"), hopeless)
    assert decision.node_name == ""
    assert decision.message.startswith("0/2 nodes are available: 1 broken, 1 busy.")
    assert decision.diagnosis is not None
    assert decision.diagnosis.rejectors() == ({"Extender"}, set())


def test_nobody_is_asked_who_is_not_interested_or_does_not_filter() -> None:
    idle = FakeExtender(interested=lambda pod: False, filter=only())
    scorer = FakeExtender(prioritize=lambda pod, nodes: {"b": 10})
    decision = decide(World([node("a"), node("b")]), pod("p"), idle, scorer)
    assert decision.node_name == "b"
    assert not idle.asked
    assert scorer.asked == [("prioritize", "p", ["a", "b"])]


@pytest.mark.parametrize(("weight", "chosen"), [(1, "big"), (9, "small")])
def test_scores_are_scaled_and_weighted(weight: int, chosen: str) -> None:
    world = World([node("small", cpu=4), node("big", cpu=64, memory="128Gi")])
    scorer = FakeExtender(weight=weight, prioritize=lambda pod, nodes: {"small": 1, "nobody": 10})
    assert decide(world, pod("p", requests={"cpu": 2, "memory": "4Gi"}), scorer).node_name == chosen


def test_an_extender_that_fails_at_scoring_gives_no_scores() -> None:
    failing = FakeExtender(prioritize=lambda pod, nodes: Failure("down"))
    assert decide(World([node("a"), node("b")]), pod("p"), failing).node_name in ("a", "b")


@pytest.mark.parametrize("ignorable", [True, False])
def test_a_filter_that_fails_ends_the_cycle_unless_it_is_ignorable(ignorable: bool) -> None:
    failing = FakeExtender(ignorable=ignorable, filter=lambda pod, nodes: Failure("down"))
    decision = decide(World([node("a")]), pod("p"), failing)
    assert decision.node_name == ("a" if ignorable else "")
    assert decision.message == ("" if ignorable else "down")


def test_a_refused_nominated_node_is_not_the_end() -> None:
    picky = FakeExtender(filter=only("b"))
    decision = decide(World([node("a"), node("b")]), pod("p", nominated="a"), picky)
    assert decision.node_name == "b"
    assert [names for _, _, names in picky.asked] == [["a"], ["a", "b"]]


def full(name: str, *priorities: int) -> list[dict[str, Any]]:
    return [pod(f"{name}-{i}", name, requests={"cpu": 2}, priority=p) for i, p in enumerate(priorities)]


def test_extenders_narrow_preemption() -> None:
    world = World([node("a", cpu=2), node("b", cpu=2)], [*full("a", 1), *full("b", 5)])
    protects_a = FakeExtender(preempt=lambda pod, offers: {n: e for n, e in offers.items() if n != "a"})
    decision = decide(world, pod("p", requests={"cpu": 2}, priority=9), protects_a)
    assert decision.nominated_node_name == "b"
    assert decision.preemption is not None
    assert [victim.name for victim in decision.preemption.victims] == ["b-0"]
    assert protects_a.asked == [("preempt", "p", ["a", "b"])]


@pytest.mark.parametrize(
    ("claims", "told", "if_ignorable"),
    [
        (Failure("down"), "down", "a"),
        ({"a": ExtenderMetaVictims(())}, 'expected at least one victim pod on node "a"', ""),
        ({"x": ExtenderMetaVictims(("default/a-0",))}, 'nodeinfo not found for node name "x"', "a"),
        (
            {"a": ExtenderMetaVictims(("1",))},
            "extender: fake claims to preempt pod (UID: &{1}) on node: a, but the pod is not found on that node",
            "a",
        ),
        ({}, "no candidate node for preemption", ""),
    ],
)
@pytest.mark.parametrize("ignorable", [True, False])
def test_what_is_wrong_with_a_reply_to_preempt(claims: Any, told: str, if_ignorable: str, ignorable: bool) -> None:
    world = World([node("a", cpu=2)], full("a", 1))
    odd = FakeExtender(ignorable=ignorable, preempt=lambda pod, offers: claims)
    decision = decide(world, pod("p", requests={"cpu": 2}, priority=9), odd)
    assert decision.error is None
    if ignorable:
        assert (decision.nominated_node_name or "") == if_ignorable
        told = "" if if_ignorable else "preemption: no candidate node for preemption"
        assert decision.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
        assert decision.message.endswith(told or "cpu.")
    else:
        assert not decision.nominated_node_name
        assert decision.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
        assert decision.message.endswith(f"preemption: {told}")


def test_an_extender_may_name_another_node_and_other_victims() -> None:
    world = World(
        [node("a", cpu=2), node("b", cpu=2)], [*full("a", 1), pod("b-0", "b", requests={"cpu": 2}, priority=9)]
    )
    chooser = FakeExtender(preempt=lambda pod, offers: {"b": ExtenderMetaVictims(("default/b-0",), 1)})
    decision = decide(world, pod("p", requests={"cpu": 2}, priority=9), chooser)
    assert chooser.asked == [("preempt", "p", ["a"])]
    assert decision.nominated_node_name == "b"
    assert decision.preemption is not None
    assert [victim.name for victim in decision.preemption.victims] == ["b-0"]
    assert decision.preemption.chosen is not None
    assert decision.preemption.chosen.violations == 1


def test_a_failure_about_the_nominated_node_is_not_the_end() -> None:
    answers = iter([Failure("down"), Filtered(["b"])])
    flaky = FakeExtender(filter=lambda pod, nodes: next(answers))
    decision = decide(World([node("a"), node("b")]), pod("p", nominated="a"), flaky)
    assert decision.node_name == "b"
    assert [names for _, _, names in flaky.asked] == [["a"], ["a", "b"]]


def test_what_a_short_search_does_not_come_to_is_not_told() -> None:
    """Of 200 nodes, 20 are full: some of those come after the hundred that extenders are asked about."""
    nodes = [node(f"n{i:03}", cpu=1 if i % 10 == 9 else 4) for i in range(200)]
    none = FakeExtender(filter=lambda pod, nodes: Filtered([], dict.fromkeys(nodes, "no")))
    world = World(nodes)
    world.profile.sampler = Sampler(50, Rotation(world.cluster.nodes))
    decision = decide(world, pod("p", requests={"cpu": 2}), none)
    ((_, _, asked),) = none.asked
    assert len(asked) == 100
    assert decision.message.startswith("0/200 nodes are available: 100 no, 11 Insufficient cpu.")


def test_scores_are_told_with_the_decision() -> None:
    scorer = FakeExtender("http://scorer", weight=3, prioritize=lambda pod, nodes: {"a": 2, "b": 0.5})
    record = decide(World([node("a"), node("b")]), pod("p"), scorer).record()
    assert record.scores["a"]["http://scorer"].weighted == 60
    assert record.totals["a"] - record.totals["b"] == 45
