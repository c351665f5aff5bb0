from typing import Any

import pytest
from tests.builders import World, node, pod
from tests.extenders import FakeExtender

from stowplan.framework import Failure
from stowplan.framework.extender import Eviction, Filtered
from stowplan.framework.instructions import Together
from stowplan.runtime import Decision


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
    assert decision.survey is not None
    assert decision.survey.rejectors() == ({"Extender"}, set())


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


@pytest.mark.parametrize("ignorable", [True, False])
def test_a_node_without_victims_is_dropped_or_an_error(ignorable: bool) -> None:
    world = World([node("a", cpu=2)], full("a", 1))
    spares = FakeExtender(ignorable=ignorable, preempt=lambda pod, offers: {"a": Eviction(())})
    decision = decide(world, pod("p", requests={"cpu": 2}, priority=9), spares)
    assert decision.preemption is None or decision.preemption.chosen is None
    assert decision.message == 'expected at least one victim pod on node "a"' or ignorable
