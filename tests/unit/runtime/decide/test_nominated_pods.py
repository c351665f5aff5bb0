"""Nodes with nominated pods: what is remembered about them, and until when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import HOSTNAME, Json, World, away, node, pod, term

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status
from stowplan.runtime.decide import nominated_pods

NEWCOMER = pod("p", requests={"cpu": 2})


def rival(name: str, cpu: int, on: str = "n", **more: Any) -> Json:
    return pod(name, nominated=on, priority=5, requests={"cpu": cpu}, **more)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes whose filters are run with nominated pods on them."""
    names: list[str] = []
    real = nominated_pods.filter_node

    def filter_node(profile: Any, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        names.append(info.name)
        return real(profile, state, pod, info)

    monkeypatch.setattr(nominated_pods, "filter_node", filter_node)
    return names


def crowded_world(**more: Any) -> World:
    """Some nodes that a rival fills but for less than the newcomer wants, and one without room for either."""
    world = World([node(name) for name in ("n", "o", "full")], [pod("there", on="full", requests={"cpu": 4})], **more)
    for name in ("n", "o"):
        world.nominate(rival(f"for-{name}", 3, on=name))
    return world


def test_nodes_are_looked_at_once_while_nothing_changes(asked: list[str]) -> None:
    world = crowded_world()
    for _ in range(3):
        assert world.decide(NEWCOMER).node_name == ""
    assert sorted(asked) == ["n", "o"]


@pytest.mark.parametrize(
    ("change", "again", "goes_to"),
    [
        (lambda world: world.nominate(rival("one-more", 1)), ["n"], ""),
        (lambda world: world.nominator.remove(world.pod(rival("for-n", 3))), [], "n"),
        (lambda world: world.nominate(rival("for-o", 1, on="o")), ["o"], "o"),
        (lambda world: world.put_node(node("o", cpu=8)), ["o"], "o"),
        (lambda world: world.add_pod(pod("new", on="o", requests={"cpu": 1})), ["o"], ""),
        (lambda world: world.put("Service", name="s", spec={"selector": {"a": "b"}}), ["n", "o"], ""),
    ],
)
def test_what_changes_is_looked_at_again(asked: list[str], change: Any, again: list[str], goes_to: str) -> None:
    world = crowded_world()
    for _ in range(2):
        world.decide(NEWCOMER)
    asked.clear()
    change(world)
    for _ in range(2):
        assert world.decide(NEWCOMER).node_name == goes_to
    assert sorted(asked) == again
    assert world.afresh(NEWCOMER).node_name == goes_to


def test_a_pod_is_no_rival_of_itself(asked: list[str]) -> None:
    world = crowded_world()
    world.decide(NEWCOMER)
    assert world.decide(pod("for-n", priority=0, requests={"cpu": 2})).node_name == "n"
    assert world.decide(NEWCOMER).node_name == ""


def test_lower_priorities_do_not_count(asked: list[str]) -> None:
    world = crowded_world()
    assert world.decide(pod("vip", priority=9, requests={"cpu": 2})).node_name in ("n", "o")
    assert asked == []


def test_nothing_is_remembered_where_filters_look_beyond_the_node(asked: list[str]) -> None:
    world = crowded_world()
    choosy = pod("p", requests={"cpu": 2}, affinity=away(term(HOSTNAME)))
    world.profile.refusals.enabled = False
    for _ in range(2):
        world.decide(choosy)
    assert len(asked) > 2


def test_nothing_is_remembered_where_users_filter(asked: list[str]) -> None:
    class Mine(Plugin):
        name = "mine"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None

    world = crowded_world(plugins={"mine": Mine})
    for _ in range(2):
        world.decide(NEWCOMER)
    assert len(asked) > 2


def test_nodes_without_nominations_are_forgotten_in_the_end() -> None:
    world = World([node(f"n{number}") for number in range(20)])
    for number in range(20):
        world.nominate(rival(f"r{number}", 3, on=f"n{number}"))
    world.decide(NEWCOMER)
    template = world.pod(NEWCOMER).template
    (memory,) = (value for value in template.derived.values() if isinstance(value, nominated_pods._KeptVerdicts))
    assert len(memory.by_slot) == 20
    for number in range(18):
        world.nominator.remove(world.pod(rival(f"r{number}", 3, on=f"n{number}")))
    world.decide(NEWCOMER)
    assert len(memory.by_slot) <= 8
