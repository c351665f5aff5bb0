from collections.abc import Iterable
from typing import Any

import pytest
from tests.builders import Json, World, expressions, fields, node, node_affinity, pod, profile_config

from stowplan import api
from stowplan.api import codec
from stowplan.framework import Action, Code, CycleState, EventResource, QueueingHint, Status

NAME = "NodeAffinity"
SKIPPED = Status(Code.Skip)
OWN = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
BOTH = {**expressions("disk", "In", "ssd"), **fields("a")}
NODES = [node("a", labels={"disk": "ssd", "size": "10"}), node("b", labels={"disk": "hdd", "size": "x"}), node("c")]


def added(**affinity: Any) -> Json:
    return profile_config(args={NAME: {"addedAffinity": node_affinity(**affinity)["nodeAffinity"]}})


def added_required(*terms: Json) -> Json:
    return profile_config(args={NAME: {"addedAffinity": node_affinity(*terms)["nodeAffinity"]}})


def rejected(world: World, item: Json) -> dict[str, str]:
    plugin, newcomer = world.plugin(NAME), world.pod(item)
    statuses = {info.name: plugin.filter(CycleState(), newcomer, info) for info in world.cluster.nodes}
    assert all(s.code == Code.UnschedulableAndUnresolvable for s in statuses.values() if s is not None)
    return {name: status.message for name, status in statuses.items() if status is not None}


@pytest.mark.parametrize(
    ("spec", "matching"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "a"),
        ({"nodeSelector": {"disk": "ssd", "size": "9"}}, ""),
        ({"affinity": node_affinity(expressions("disk", "In", "ssd", "hdd"))}, "ab"),
        ({"affinity": node_affinity(expressions("disk", "NotIn", "ssd"))}, "bc"),
        ({"affinity": node_affinity(expressions("disk", "Exists"))}, "ab"),
        ({"affinity": node_affinity(expressions("disk", "DoesNotExist"))}, "c"),
        ({"affinity": node_affinity(expressions("size", "Gt", "9"))}, "a"),
        ({"affinity": node_affinity(expressions("size", "Lt", "11"))}, "a"),
        ({"affinity": node_affinity(expressions("size", "Gt", "10"))}, ""),
        ({"affinity": node_affinity(fields("b"))}, "b"),
        ({"affinity": node_affinity(fields("b", operator="NotIn"))}, "ac"),
        ({"affinity": node_affinity(fields("a", "b"))}, ""),
        ({"affinity": node_affinity(BOTH)}, "a"),
        ({"affinity": node_affinity(fields("c"), expressions("disk", "In", "ssd"))}, "ac"),
        ({"affinity": node_affinity({})}, ""),
        ({"affinity": node_affinity({}, fields("c"))}, "c"),
        ({"affinity": node_affinity(fields("a")), "nodeSelector": {"disk": "hdd"}}, ""),
    ],
)
def test_required(spec: Json, matching: str) -> None:
    world = World(NODES)
    assert rejected(world, pod("p", **spec)) == {name: OWN for name in "abc" if name not in matching}


def test_added_affinity_comes_first() -> None:
    world = World(NODES, config=added_required(expressions("disk", "Exists")))
    assert rejected(world, pod("p")) == {"c": ENFORCED}
    assert rejected(world, pod("p", nodeSelector={"disk": "ssd"})) == {"b": OWN, "c": ENFORCED}


@pytest.mark.parametrize(
    ("terms", "answer"),
    [
        ([fields("a")], {"a"}),
        ([fields("a"), fields("b")], {"a", "b"}),
        ([fields("a", "b")], {"a", "b"}),
        ([BOTH], {"a"}),
        ([fields("a"), expressions("disk", "Exists")], None),
        ([fields("a", operator="NotIn")], None),
        ([fields("nowhere")], {"nowhere"}),
        ([expressions("disk", "Exists")], None),
    ],
)
def test_nodes_that_the_terms_name(terms: list[Json], answer: set[str] | None) -> None:
    world = World(NODES)
    found = world.plugin(NAME).pre_filter(
        CycleState(), world.pod(pod("p", affinity=node_affinity(*terms))), world.cluster.nodes.everything()
    )
    assert (set(found) if isinstance(found, Iterable) else found) == answer


def test_pre_filter_skips_where_nothing_is_required() -> None:
    everything = World(NODES).cluster.nodes.everything()
    plain, enforcing = World(NODES), World(NODES, config=added_required(expressions("disk", "Exists")))
    preferring = pod(
        "p", affinity=node_affinity(preferred=[{"weight": 1, "preference": expressions("disk", "Exists")}])
    )
    for item in (pod("p"), preferring, pod("p", affinity={})):
        assert plain.plugin(NAME).pre_filter(CycleState(), plain.pod(item), everything) == SKIPPED
        assert enforcing.plugin(NAME).pre_filter(CycleState(), enforcing.pod(item), everything) is None


PREFERRED = [
    {"weight": 10, "preference": expressions("disk", "Exists")},
    {"weight": 3, "preference": expressions("size", "Gt", "5")},
    {"weight": 2, "preference": fields("c")},
    {"weight": 50, "preference": {}},
]


def test_preferences_add_up() -> None:
    world = World(NODES, config=added(preferred=[{"weight": 5, "preference": expressions("disk", "In", "hdd")}]))
    plugin, nodes = world.plugin(NAME), world.cluster.nodes.everything()
    newcomer = world.pod(pod("p", affinity=node_affinity(preferred=PREFERRED)))
    assert plugin.pre_score(CycleState(), newcomer, nodes) is None
    assert plugin.score_nodes(CycleState(), newcomer, nodes).tolist() == [13, 15, 2]
    assert plugin.score_nodes(CycleState(), world.pod(pod("q")), nodes).tolist() == [0, 5, 0]


def test_pre_score_skips_where_nothing_is_preferred() -> None:
    world = World(NODES)
    plugin, nodes = world.plugin(NAME), world.cluster.nodes.everything()
    for item in (pod("p"), pod("p", affinity=node_affinity(fields("a")))):
        assert plugin.pre_score(CycleState(), world.pod(item), nodes) == SKIPPED


def test_malformed_preference_is_an_error() -> None:
    world = World(NODES)
    terms = [{"weight": 1, "preference": expressions("size", "Gt", "many")}]
    newcomer = world.pod(pod("p", affinity=node_affinity(preferred=terms)))
    status = world.plugin(NAME).pre_score(CycleState(), newcomer, world.cluster.nodes.everything())
    assert status is not None
    assert status.code == Code.Error


def test_pods_that_look_alike_share_results() -> None:
    world = World(NODES)
    plugin = world.plugin(NAME)
    same = [world.pod(pod("p", nodeSelector={"disk": "ssd"}, priority=i)).template for i in range(2)]
    other = world.pod(pod("p", nodeSelector={"disk": "hdd"})).template
    assert plugin.signature(same[0]) == plugin.signature(same[1]) != plugin.signature(other)
    assert plugin.concerns(other)
    assert not plugin.concerns(world.pod(pod("p")).template)


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, "ssd", QUEUE),
        (None, "hdd", SKIP),
        ("hdd", "ssd", QUEUE),
        ("ssd", "ssd", SKIP),
        ("ssd", "hdd", SKIP),
        ("ssd", None, SKIP),
    ],
)
def test_nodes_that_begin_to_match(old: str | None, new: str | None, hint: QueueingHint) -> None:
    world = World()
    (entry,) = world.plugin(NAME).events_to_register()
    assert entry.event.resource == EventResource.Node
    assert entry.event.action == Action.Add | Action.UpdateNodeLabel
    before, after = (
        None if disk is None else codec.convert(api.Node, node("n", labels={"disk": disk})) for disk in (old, new)
    )
    assert entry.hint(world.pod(pod("p", nodeSelector={"disk": "ssd"})), before, after) is hint
