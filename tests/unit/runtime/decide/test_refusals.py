"""A refusal is recalled as long as it holds, and no longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builders import Json, World, node, pod

from stowplan.cache.kept import MAX_SCALAR_REPAIRS
from stowplan.runtime import Decision

WAITING: Json = {"requests": {"cpu": 3}, "preemptionPolicy": "Never"}
NODES = 2 * MAX_SCALAR_REPAIRS


def full_world() -> World:
    """Nodes on which a pod of 3 CPUs has no room, with a refusal of such a pod."""
    world = World(
        [node(f"n{number}", cpu=4) for number in range(NODES)],
        [pod(f"r{number}", on=f"n{number}", requests={"cpu": 2}) for number in range(NODES)],
    )
    assert not world.decide(pod("w", **WAITING)).node_name
    return world


def recalled(world: World) -> Decision | None:
    return world.profile.refusals.recall(world.pod(pod("w", **WAITING)))


def start(world: World, number: int) -> None:
    world.add_pod(pod(f"s{number}", on=f"n{number}", requests={"cpu": "100m"}))


def end(world: World, number: int) -> None:
    world.cluster.remove_pod(f"default/r{number}")


@pytest.mark.parametrize(
    ("changes", "is_recalled"),
    [(0, True), (1, True), (MAX_SCALAR_REPAIRS, True), (MAX_SCALAR_REPAIRS + 1, False), (NODES, False)],
)
def test_nodes_with_other_pods_are_filtered_again_if_they_are_few(changes: int, is_recalled: bool) -> None:
    world = full_world()
    for number in range(changes):
        start(world, number)
    assert (recalled(world) is not None) is is_recalled
    assert (recalled(world) is not None) is is_recalled, "a refusal that is not recalled is forgotten"


def test_changes_are_counted_from_the_latest_recall() -> None:
    world = full_world()
    for number in range(NODES):
        start(world, number)
        assert recalled(world) is not None


@pytest.mark.parametrize("before", [0, MAX_SCALAR_REPAIRS - 1])
def test_a_refusal_ends_with_room_on_a_node(before: int) -> None:
    world = full_world()
    for number in range(before):
        start(world, number)
    end(world, NODES - 1)
    assert recalled(world) is None
    assert world.decide(pod("w", **WAITING)).node_name == f"n{NODES - 1}"


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.put_node(node("n0", cpu=4, labels={"a": "b"})),
        lambda world: world.put("ResourceSlice", name="s"),
    ],
    ids=["a node", "another object"],
)
def test_a_refusal_ends_with_changes_other_than_of_pods(change: Callable[[World], None]) -> None:
    world = full_world()
    change(world)
    assert recalled(world) is None


def test_a_recalled_refusal_has_the_text_of_a_new_one() -> None:
    world = full_world()
    world.add_pod(pod("s", on="n0", requests={"memory": "9Gi"}))
    known = recalled(world)
    assert known is not None
    assert known.message == world.afresh(pod("w", **WAITING)).message
