"""Nodes as slots."""

import pytest
from tests.builders import HOSTNAME, ZONE, World, node, pod

from stowplan.cache import ABSENT


def test_a_free_slot_is_taken_again_and_nothing_is_left_of_its_former_node() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    images = [{"names": ["a"], "sizeBytes": 1}]
    former = node("b", unschedulable=True, taints=[taint], images=images, extra={"example.com/x": "3"})
    world = World([node("a"), former, node("c")])
    table = world.cluster.nodes
    host = table.label(HOSTNAME)
    world.cluster.remove_node("b")
    assert (len(table), table.high, list(table.slot_of)) == (2, 3, ["a", "c"])
    assert table.everything().slots().tolist() == [0, 2]
    assert [info.name for info in table] == ["a", "c"]
    assert table.images.get("a") is None
    assert host.values[1] == ABSENT
    world.put_node({"metadata": {"name": "d"}})
    assert table.slot_of["d"] == 1
    info = table.infos[1]
    assert info is not None
    assert info.allocatable == {"pods": 0}
    assert not table.unschedulable[1]
    assert table.taint_sets[table.taint_set[1]] == ()
    assert table.everything().holes is None


def test_membership_and_logs() -> None:
    world = World([node("a")])
    table = world.cluster.nodes
    membership, node_log, log = table.membership, table.node_log.position, table.log.position
    world.put_node(node("a", cpu=1))
    assert table.membership == membership
    assert table.node_log.recent(node_log, 10) == table.log.recent(log, 10) == [0]
    world.put_node(node("b"))
    world.cluster.remove_node("a")
    assert table.membership == membership + 2
    assert table.node_log.recent(node_log, 10) == [0, 1, 0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (node("a"), False),
        (node("a", status={"conditions": [{"type": "Slow", "status": "True", "lastHeartbeatTime": "2026"}]}), True),
        (node("a", status={"nodeInfo": {"kernelVersion": "6"}}), False),
        (node("a", cpu=1), True),
        (node("a", labels={"x": "y"}), True),
        (node("a", annotations={"x": "y"}), True),
        (node("a", unschedulable=True), True),
        (node("a", taints=[{"key": "k", "effect": "NoSchedule"}]), True),
        (node("a", images=[{"names": ["i"], "sizeBytes": 1}]), True),
        (node("a", status={"declaredFeatures": ["F"]}), True),
    ],
)
def test_heartbeats_change_nothing(changed: dict[str, object], told: bool) -> None:
    world = World([node("a")])
    table = world.cluster.nodes
    position = table.node_log.position
    world.put_node(changed)
    assert bool(table.node_log.recent(position, 10)) is told
    info = table.get("a")
    assert info is not None
    assert info.node.metadata.name == "a"


def test_growing_past_the_first_capacity() -> None:
    world = World([node(f"n{i}", cpu=i, zone=f"z{i % 3}") for i in range(40)])
    table = world.cluster.nodes
    zones = table.label("topology.kubernetes.io/zone")
    first = table.capacity
    for i in range(40, 300):
        world.put_node(node(f"n{i}", cpu=i, zone=f"z{i % 3}", extra={"example.com/x": str(i)}))
    assert table.capacity > first
    for i in (0, 39, 63, 64, 128, 299):
        slot = table.slot_of[f"n{i}"]
        assert table.allocatable["cpu"].values[slot] == table.allocatable["cpu"].array[slot] == 1000 * i
        assert zones.texts[zones.values[slot]] == f"z{i % 3}"
        assert table.allocatable["example.com/x"].values[slot] == (i if i >= 40 else 0)
    assert zones.sizes == [100, 100, 100]


def test_labels_are_columns_once_somebody_selects_on_them() -> None:
    world = World([node("a", labels={"x": "1"}), node("b")])
    column = world.cluster.nodes.label("x")
    assert [column.values[0], column.values[1]] == [0, ABSENT]
    assert world.cluster.nodes.label("x") is column
    world.put_node(node("b", labels={"x": "2"}))
    assert column.texts == ["1", "2"]


def test_a_key_that_no_node_has_gets_no_column() -> None:
    world = World([node("a", labels={"x": "1"})])
    table = world.cluster.nodes
    world.decide(pod("p", nodeSelector={"x": "1", **{f"k{i}": "v" for i in range(100)}}))
    assert len(table.labels) <= 1
    held = table.label("k7")
    assert len(table.labels) <= 1
    world.put_node(node("b", labels={"k7": "v"}))
    assert held.values[table.slot_of["b"]] == 0
    assert table.label("k7") is held
    world.cluster.remove_node("b")
    assert held.present == 0


def test_tables_do_not_grow_with_nodes_that_are_gone() -> None:
    world = World()
    table = world.cluster.nodes
    zones = table.label(ZONE)
    for i in range(300):
        kinds = {"labels": {f"k{i}": "v"}, "images": [{"names": [f"i{i}"], "sizeBytes": 1}]}
        taints = [{"key": f"t{i}", "effect": "PreferNoSchedule"}]
        world.put_node(node(f"n{i}", zone=f"z{i}", taints=taints, extra={f"example.com/{i}": "1"}, **kinds))
        world.decide(pod(f"p{i}", nodeSelector={f"k{i}": "v"}, requests={f"example.com/{i}": 1}))
        if i >= 5:
            world.cluster.remove_node(f"n{i - 5}")
    assert len(table) == 5
    assert len(table.labels) == 6  # zone, and one key of each node
    assert sorted(table.allocatable) == sorted(
        ["cpu", "memory", "ephemeral-storage", *(f"example.com/{i}" for i in range(295, 300))]
    )
    assert sorted(table.requested) == ["cpu", "ephemeral-storage", "memory"]
    assert len(table.taint_sets) <= 2 * 5 + 16
    assert len(table.images) == 5
    assert len(zones.texts) <= 7
    for i in range(295, 300):
        slot = table.slot_of[f"n{i}"]
        assert [taint.key for taint in table.taint_sets[table.taint_set[slot]]] == [f"t{i}"]
        assert table.allocatable[f"example.com/{i}"].values[slot] == 1
