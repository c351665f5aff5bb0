"""The plain pass, over few nodes one by one and over many as vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.builders import World, fields, node, node_affinity, pod

from stowplan.framework import Code, CycleState, Nodes, Plugin, Pod, Status, reject, reject_forever
from stowplan.runtime.decide import diagnosis


class Overlapping(Plugin):
    """Several things against one node."""

    name = "overlapping"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Any, Status]]:
        slots = nodes.slots_at(np.arange(len(nodes)))
        yield slots % 2 == 0, reject("even")
        yield slots % 3 == 0, reject_forever("threefold")
        yield slots % 2 == 0, reject("even, again")


@pytest.mark.parametrize("count", [4, 40])
def test_reasons_are_merged_in_order(count: int) -> None:
    world = World([node(f"n{i}") for i in range(count)], plugins={"overlapping": Overlapping})
    diagnosis = world.diagnosis(pod("p"))
    hopeless, possible = Code.UnschedulableAndUnresolvable, Code.Unschedulable
    assert diagnosis.status_of(0) == Status(hopeless, "even", "threefold", "even, again", plugin="overlapping")
    assert diagnosis.status_of(2) == Status(possible, "even", "even, again", plugin="overlapping")
    assert diagnosis.status_of(3) == Status(hopeless, "threefold", plugin="overlapping")
    assert diagnosis.status_of(1) is None
    assert [i % 6 in (1, 5) for i in range(count)] == [i in diagnosis.feasible for i in range(count)]


@pytest.mark.parametrize("count", [5, 50])
def test_statuses_by_name(count: int) -> None:
    nodes = [node(f"n{i}", unschedulable=i == 0) for i in range(count)]
    world = World(nodes)
    world.cluster.remove_node("n3")
    statuses = world.diagnosis(pod("p")).node_statuses()
    assert dict(statuses).keys() == {"n0"}
    assert len(statuses) == 1
    for name in ("n1", "n3", "elsewhere"):
        with pytest.raises(KeyError):
            _ = statuses[name]


def test_nodes_that_were_left_out_share_a_status() -> None:
    world = World([node("a", unschedulable=True), node("b"), node("c")])
    statuses = world.diagnosis(pod("p", affinity=node_affinity(fields("a")))).node_statuses()
    assert {name: status.plugin for name, status in statuses.items()} == {"a": "NodeUnschedulable", "b": "", "c": ""}
    assert statuses["b"].message == "node(s) didn't satisfy plugin(s) [NodeAffinity]"


def test_the_first_plugin_that_objects_gives_the_reason() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    for count in (1, 30):
        world = World([node(f"n{i}", cpu=1, unschedulable=True, taints=[taint]) for i in range(count)])
        diagnosis = world.diagnosis(pod("p", requests={"cpu": 2}))
        assert {status.plugin for status in diagnosis.node_statuses().values()} == {"NodeUnschedulable"}


def test_scores_of_feasible_nodes_alone() -> None:
    world = World([node("a"), node("b", unschedulable=True), node("c", cpu=64)])
    diagnosis = world.diagnosis(pod("p", requests={"cpu": 1}))
    assert diagnosis.feasible.tolist() == [0, 2]
    assert len(diagnosis.total) == 2
    assert diagnosis.total.tolist() == sum(part.weight * part.normalized for part in diagnosis.scores).tolist()  # type: ignore[union-attr]


def test_reasons_that_all_nodes_share_do_not_split_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may request thousands of resources that no node has."""
    splits: list[int] = []
    split = diagnosis._split

    def counted(*args: Any) -> Any:
        splits.append(1)
        return split(*args)

    monkeypatch.setattr(diagnosis, "_split", counted)
    world = World([node(f"n{i}", cpu=1 + i % 2) for i in range(40)])
    names = [f"example.com/{i:03}" for i in range(200)]
    made = world.diagnosis(pod("p", requests={"cpu": 2, **dict.fromkeys(names, 1)}))
    missing = [f"Insufficient {name}" for name in names]
    assert made.status_of(0) == Status(
        Code.UnschedulableAndUnresolvable, "Insufficient cpu", *missing, plugin="NodeResourcesFit"
    )
    assert made.status_of(1) == Status(Code.UnschedulableAndUnresolvable, *missing, plugin="NodeResourcesFit")
    assert len(splits) <= 2 * len(names)
    assert sorted(world.cluster.nodes.allocatable) == ["cpu", "ephemeral-storage", "memory"]
