from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, away, node, pod, selector, term

from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.dry_run import NO_VICTIMS, PreemptionCandidate, PreemptionCandidates, dry_run

ONE = {"requests": {"cpu": "1"}}


def ask(world: World, preemptor: dict[str, Any], on: str = "n") -> Any:
    diagnosis = world.diagnosis(pod("w", **{"priority": 10, **preemptor}))
    info = world.cluster.nodes.get(on)
    assert info is not None
    before = (dict(info.pods), dict(info.requested))
    try:
        return dry_run(world.profile, diagnosis.state, diagnosis.pod, info)
    finally:
        assert (dict(info.pods), dict(info.requested)) == before, "all is as it was"


def victims(outcome: PreemptionCandidate) -> list[str]:
    return [victim.name for victim in outcome.victims]


def full(*pods: Any) -> World:
    return World([node("n", cpu=len(pods))], pods)


def test_nobody_of_lower_priority() -> None:
    assert ask(full(pod("a", "n", **ONE, priority=10)), ONE) is NO_VICTIMS


def test_the_least_important_go() -> None:
    world = full(*(pod(name, "n", **ONE, priority=i) for i, name in enumerate("abcd")))
    assert victims(ask(world, {"requests": {"cpu": "2"}})) == ["b", "a"]


def test_small_ones_that_do_not_help_stay() -> None:
    world = World([node("n", cpu=2)], [pod("small", "n", requests={"cpu": "10m"}), pod("big", "n", **ONE, priority=5)])
    assert victims(ask(world, {"requests": {"cpu": "1500m"}})) == ["big"]


def test_not_even_without_them() -> None:
    outcome = ask(full(pod("a", "n", **ONE), pod("b", "n", **ONE, priority=50)), {"requests": {"cpu": "2"}})
    assert outcome.reasons == ("Insufficient cpu",)


def test_protected_pods_are_reprieved_first_and_violations_counted() -> None:
    pods = [pod(name, "n", **ONE, labels={"app": name}, priority=i) for i, name in enumerate("abc")]
    world = full(*pods)
    for name in "ab":
        spec = {"selector": selector(app=name)}
        world.put("PodDisruptionBudget", name=name, namespace="default", spec=spec, status={"disruptionsAllowed": 0})
    one, two = (ask(world, {"requests": {"cpu": cpu}}) for cpu in "12")
    assert (victims(one), one.violations) == (["c"], 0)
    assert (victims(two), two.violations) == (["c", "a"], 1)


def test_who_is_sorted_twice_is_reversed_twice() -> None:
    """Pods that have not started swap places at each sorting; the second one happens only where both kinds occur."""
    pods = [pod(name, "n", **ONE, labels={"app": name}) for name in "abc"]
    world = full(*pods)
    assert victims(ask(world, {"requests": {"cpu": "3"}})) == ["c", "b", "a"]
    spec = {"selector": selector(app="a")}
    world.put("PodDisruptionBudget", name="x", namespace="default", spec=spec, status={"disruptionsAllowed": 0})
    assert victims(ask(world, {"requests": {"cpu": "3"}})) == ["b", "c", "a"]


def test_nominated_pods_need_room_as_well() -> None:
    world = full(*(pod(name, "n", **ONE) for name in "ab"))
    assert len(victims(ask(world, ONE))) == 1
    world.nominate(pod("q", nominated="n", **ONE, priority=10))
    assert len(victims(ask(world, ONE))) == 2
    world.nominate(pod("r", nominated="n", **ONE, priority=10))
    assert ask(world, ONE).reasons == ("Insufficient cpu",)


def test_filters_are_asked_about_the_node_as_it_would_be() -> None:
    world = World([node("n")], [pod("a", "n", labels={"app": "a"}), pod("b", "n", labels={"app": "b"})])
    preemptor = {"affinity": away(term("kubernetes.io/hostname", "a"))}
    assert victims(ask(world, preemptor)) == ["a"]


def test_a_node_that_needs_no_victims_is_an_error() -> None:
    with pytest.raises(CycleError, match='expected at least one victim pod on node "n"'):
        ask(World([node("n")], [pod("a", "n", **ONE)]), ONE)


def test_candidates_are_put_together_when_looked_at() -> None:
    made = []

    def make(key: int) -> Any:
        made.append(key)
        return key

    candidates = PreemptionCandidates([3, 4, 5], make)
    assert (len(candidates), made) == (3, [])
    assert (candidates[1], made) == (4, [4])
    assert list(candidates[1:]) == [4, 5]
