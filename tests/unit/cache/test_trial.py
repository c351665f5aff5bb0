"""Trials change the cluster as far as every reader can tell, and restore it."""

from __future__ import annotations

import pytest
from tests.builders import World, member, node, pod

from stowplan.cache import Trial


def residents(world: World) -> list[str]:
    info = world.cluster.nodes.get("n")
    assert info is not None
    return [each.name for each in info.pods.values()]


def test_an_assumed_member_counts_until_the_end() -> None:
    world = World([node("n")])
    made = world.add_member(member("m", requests={"cpu": "1"}))
    state = world.cluster.pod_groups.of(made)
    assert state is not None
    with Trial(world.cluster) as trial:
        trial.assume(made, "n")
        assert residents(world) == ["m"]
        assert (list(state.assumed), list(state.unscheduled)) == ([made.uid], [])
    assert residents(world) == []
    assert (made.node_name, list(state.assumed), list(state.unscheduled)) == ("", [], [made.uid])


def test_kept_answers_see_a_trial() -> None:
    world = World([node("n", cpu=1)])
    for _ in range(3):  # The third decision uses a plan.
        assert world.decide(pod("p", requests={"cpu": "1"})).node_name == "n"
    with Trial(world.cluster) as trial:
        trial.assume(world.pod(pod("q", requests={"cpu": "1"})), "n")
        assert world.decide(pod("p", requests={"cpu": "1"})).node_name == ""
    assert world.decide(pod("p", requests={"cpu": "1"})).node_name == "n"


def test_removed_pods_return_in_their_order() -> None:
    world = World([node("n")], [pod(name, "n", requests={"cpu": "1"}) for name in "abc"])
    info = world.cluster.nodes.get("n")
    assert info is not None
    a, b, _ = info.pods.values()
    with Trial(world.cluster) as trial:
        trial.remove(a, info)
        trial.remove(b, info)
        assert residents(world) == ["c"]
        trial.restore(a)
        assert residents(world) == ["c", "a"]
        assert world.cluster.nodes.requested_of(info.slot)["cpu"] == 2000
    assert residents(world) == ["a", "b", "c"]
    assert world.cluster.nodes.requested_of(info.slot)["cpu"] == 3000


def test_an_exception_restores_the_cluster() -> None:
    world = World([node("n")])
    made = world.add_member(member("m"))

    def fail() -> None:
        with Trial(world.cluster) as trial:
            trial.assume(made, "n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert residents(world) == []
    assert not world.cluster.assumed
