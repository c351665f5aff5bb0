import pytest
from tests.builders import World, node, pod


def test_a_live_view_of_columns_and_pods() -> None:
    world = World(
        [node("n", cpu=2, memory="1Gi", pods=5, taints=[{"key": "k", "effect": "NoSchedule"}], labels={"a": "b"})]
    )
    info = world.cluster.nodes.get("n")
    assert info is not None
    assert info.allocatable == {"cpu": 2000, "memory": 1 << 30, "pods": 5}
    assert info.requested == {"pods": 0}
    world.add_pod(pod("p", "n", requests={"cpu": "500m", "example.com/x": 2}))
    assert info.requested == {"cpu": 500, "example.com/x": 2, "pods": 1}
    assert [p.name for p in info.pods.values()] == ["p"]
    assert [taint.key for taint in info.taints] == ["k"]
    assert info.labels["a"] == "b"
    assert not info.unschedulable
    assert repr(info) == "<NodeInfo n>"


def test_updates_are_seen_through_the_same_object() -> None:
    world = World([node("n")])
    info = world.cluster.nodes.get("n")
    assert info is not None
    world.put_node(node("n", cpu=1, unschedulable=True, annotations={"x": "y"}))
    assert world.cluster.nodes.get("n") is info
    assert info.unschedulable
    assert info.annotations == {"x": "y"}
    assert info.allocatable["cpu"] == 1000


def test_whole_object_only_where_it_was_kept() -> None:
    world = World([node("n")])
    info = world.cluster.nodes.get("n")
    assert info is not None
    with pytest.raises(AttributeError, match="needs_objects"):
        _ = info.object
