"""PostFilter: plugins are asked in order until one has an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from tests.builders import Json, World, node, only, pod, profile_config

from stowplan.framework import (
    CycleState,
    Plugin,
    Pod,
    PostFilterResult,
    Status,
    error,
    pending,
    reject,
    reject_forever,
)


def answering(label: str, answer: Any, asked: list[str]) -> type[Plugin]:
    class Answering(Plugin):
        name = label

        def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Any:
            asked.append(label)
            if isinstance(answer, Exception):
                raise answer
            return answer

    return Answering


NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("answers", "message", "asked"),
    [
        ((), NO_ROOM, ""),
        ((reject("one"), pending("two"), reject("three", "four")), f"{NO_ROOM} one, two, three, four", "012"),
        ((reject("one"), None, reject("three")), NO_ROOM, "01"),
        ((reject("one"), reject_forever("two"), reject("three")), f"{NO_ROOM} two", "01"),
        ((reject("one"), error("broken"), reject("three")), f"{NO_ROOM} broken", "01"),
        ((PostFilterResult("n"), reject("two")), NO_ROOM, "0"),
        ((ValueError("boom"),), f"{NO_ROOM} post_filter raised ValueError: boom", "0"),
    ],
)
def test_order(answers: tuple[Any, ...], message: str, asked: str) -> None:
    told: list[str] = []
    plugins = {f"p{i}": answering(f"p{i}", answer, told) for i, answer in enumerate(answers)}
    config = profile_config(only("postFilter", *plugins))
    world = World([node("n", cpu=1)], plugins=plugins, config=config)
    assert re.sub(r" \(\S+:\d+\)$", "", world.decide(pod("p", requests={"cpu": 2})).message) == message
    assert "".join(told).replace("p", "") == asked


def test_nonsense_is_an_error() -> None:
    told: list[str] = []
    plugins = {"p": answering("p", 5, told)}
    world = World([node("n", cpu=1)], plugins=plugins, config=profile_config(only("postFilter", "p")))
    assert world.decide(pod("p", requests={"cpu": 2})).message.startswith(f"{NO_ROOM} ")
    assert "returned 5" in world.decide(pod("p", requests={"cpu": 2})).message


def test_statuses_by_node() -> None:
    seen: dict[str, Status] = {}

    class Reading(Plugin):
        name = "reading"

        def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Status:
            seen.update(statuses)
            assert len(statuses) == len(list(statuses))
            assert "gone" not in statuses
            return reject("read")

    config = profile_config(only("postFilter", "reading"))
    world = World([node("n", cpu=1), node("m", unschedulable=True)], plugins={"reading": Reading}, config=config)
    world.decide(pod("p", requests={"cpu": 2}))
    assert {name: status.plugin for name, status in seen.items()} == {"n": "NodeResourcesFit", "m": "NodeUnschedulable"}


def test_not_asked_where_the_pod_fits_or_the_cycle_broke() -> None:
    told: list[str] = []
    plugins = {"p": answering("p", reject("x"), told)}
    config = profile_config(only("postFilter", "p"))
    World([node("n")], plugins=plugins, config=config).decide(pod("p"))
    World(plugins=plugins, config=config).decide(pod("p"))
    assert not told


def victims(world: World, item: Json) -> list[str]:
    decision = world.decide(item)
    return [] if decision.preemption is None else [victim.name for victim in decision.preemption.victims]


def test_evictions_come_with_the_decision() -> None:
    world = World([node("n")], [pod("r", "n", requests={"cpu": 3}, priority=-1)])
    decision = world.decide(pod("p", requests={"cpu": 2}))
    assert decision.node_name == ""
    assert decision.message == NO_ROOM
    assert victims(world, pod("p", requests={"cpu": 2})) == ["r"]
    assert not world.cluster.journal.active
