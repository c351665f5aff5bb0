from __future__ import annotations

import numpy as np
from tests.builders import World, node, pod, selector

from stowplan.runtime.preemption.victim_table import AMOUNTS, PODS, PROTECTED, START, WEIGHT, VictimTable

ALL = np.array([0, 1])


def world() -> World:
    pods = [
        pod("a", "n0", requests={"cpu": "1"}, priority=1, status={"startTime": "1970-01-01T00:00:01Z"}),
        pod("b", "n0", requests={"cpu": "2", "memory": "3Mi"}, priority=2, labels={"app": "b"}),
        pod("c", "n0", requests={"cpu": "1"}, priority=7),
        pod("d", "n1", priority=3),
    ]
    return World([node("n0"), node("n1", cpu=2)], pods)


def made(world: World, priority: int = 7) -> VictimTable:
    table = VictimTable.of(world.profile, priority)
    table.cover(("cpu", PODS))
    table.fill(ALL)
    return table


def names(table: VictimTable, slot: int) -> list[str]:
    row = table.rows[slot]
    assert row is not None
    return [victim.name for victim in row.pods]


def test_rows_and_facts() -> None:
    table = made(world())
    assert (names(table, 0), names(table, 1)) == (["b", "a"], ["d"])
    assert table.count[:2].tolist() == [2, 1]
    assert (table.facts[WEIGHT, :2, 0] - (1 << 31)).tolist() == [2, 1]
    assert table.facts[START, 1, 0] == 1_000_000
    assert table.facts[AMOUNTS, :2, :2].tolist() == [[2000, 0], [1000, 0]]
    assert table.facts[AMOUNTS + 1, :2, :2].tolist() == [[1, 1], [1, 0]]
    assert table.free[:, :2].tolist() == [[3000, 2000], [109, 110]]


def test_a_row_is_made_again_only_when_its_node_changed() -> None:
    there = world()
    table = made(there)
    before = table.rows[0], table.rows[1]
    there.cluster.remove_pod("default/b")
    table.fill(ALL)
    assert names(table, 0) == ["a"]
    assert table.rows[0] is not before[0]
    assert table.rows[1] is before[1]


def test_a_row_that_shrinks_leaves_nothing_behind() -> None:
    there = world()
    table = made(there)
    there.cluster.remove_pod("default/b")
    table.fill(ALL)
    assert not table.facts[:, 1:, 0].any()


def test_wide_rows() -> None:
    there = world()
    table = made(there)
    for i in range(20):
        there.add_pod(pod(f"x{i}", "n1"))
    table.fill(ALL)
    assert table.count[1] == 21
    assert table.facts[AMOUNTS + 1, :, :2].sum(axis=0).tolist() == [2, 21]


def test_amounts_of_a_pod_that_was_resized() -> None:
    there = world()
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    there.add_pod(pod("e", "n1", requests={"cpu": "1"}, status=status))
    assert made(there).facts[AMOUNTS, :2, 1].tolist() == [0, 3000]


def test_new_resources_and_budgets_need_new_rows() -> None:
    there = world()
    table = made(there)
    assert table.cover(("memory", "cpu")) == [2, 0]
    table.fill(ALL)
    assert table.facts[AMOUNTS + 2, 0, 0] == 3 << 20
    spec = {"selector": selector(app="b")}
    there.put("PodDisruptionBudget", name="x", namespace="default", spec=spec, status={"disruptionsAllowed": 0})
    table.cover(())
    table.fill(ALL)
    assert table.facts[PROTECTED, :2, :2].tolist() == [[1, 0], [0, 0]]


def test_more_nodes_than_before() -> None:
    there = world()
    table = made(there)
    for i in range(2, 100):
        there.put_node(node(f"n{i}"))
    table.cover(())
    table.fill(np.arange(100))
    assert len(table.rows) >= 100
    assert names(table, 0) == ["b", "a"]


def test_one_table_for_each_of_the_latest_priorities() -> None:
    there = world()
    first = made(there, 2)
    assert names(first, 0) == ["a"]
    assert VictimTable.of(there.profile, 2) is first
    for priority in range(10, 14):
        made(there, priority)
    assert VictimTable.of(there.profile, 13) is made(there, 13)
    assert VictimTable.of(there.profile, 2) is not first
