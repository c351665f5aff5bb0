"""Preferred topology: rack before zone before anywhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.builders import ZONE, Json, World, member, node, pod, pod_group

from stowplan import api
from stowplan.api import codec
from stowplan.api.pod_group import PREFERRED_TOPOLOGY, pod_group_rules, preference_problems
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.config.releases import LATEST
from stowplan.framework import Pod

RACK = "example.com/rack"
CPU: Json = {"requests": {"cpu": "1"}}


def world(*gates: str, cpu: int = 1) -> World:
    """Two zones of two racks of two nodes."""
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, GANG_SCHEDULING, *gates), True))
    made = World(release=release)
    for i in range(8):
        made.put_node(node(f"n{i}", cpu=cpu, zone=f"z{i // 4}", labels={RACK: f"r{i // 2}"}))
    return made


def gang(made: World, size: int, preferred: str = f"{RACK}, {ZONE}", **how: object) -> list[Pod]:
    given = pod_group("g", size, **how)
    given["metadata"]["annotations"] = {PREFERRED_TOPOLOGY: preferred}
    made.cluster.put(codec.convert(api.PodGroup, given))
    return [made.add_member(member(f"g-{i}", "g", **CPU)) for i in range(size)]


def nodes_of(made: World, members: list[Pod], *, in_parallel: bool = False) -> list[str]:
    decision = made.decide_group("g", members, in_parallel=in_parallel)
    return sorted(each.node_name for each in decision.outcomes if each.status is None)


def values(made: World, names: list[str], key: str) -> set[str]:
    infos = [made.cluster.nodes.get(name) for name in names]
    return {info.labels[key] for info in infos if info is not None}


@pytest.mark.parametrize("in_parallel", [False, True])
@pytest.mark.parametrize("gates", [(), (TOPOLOGY_AWARE,)])
def test_the_narrowest_domain_with_room_for_all(gates: tuple[str, ...], in_parallel: bool) -> None:
    for size, keys in ((2, {RACK, ZONE}), (4, {ZONE}), (8, set())):
        made = world(*gates)
        found = nodes_of(made, gang(made, size), in_parallel=in_parallel)
        assert len(found) == size
        for key in (RACK, ZONE):
            assert (len(values(made, found, key)) == 1) == (key in keys)


def test_a_full_rack_is_passed_over() -> None:
    made = world()
    for name in ("n0", "n2", "n4"):
        made.add_pod(pod(f"on-{name}", name, **CPU))
    assert nodes_of(made, gang(made, 2)) == ["n6", "n7"]


def test_nothing_is_evicted_for_a_preference() -> None:
    made = world(WORKLOAD_PREEMPTION)
    for i in range(4):
        made.add_pod(pod(f"on-n{2 * i}", f"n{2 * i}", priority=1, **CPU))
    members = gang(made, 2, priority=10)
    decision = made.decide_group("g", members)
    assert (decision.result, decision.victims) == ("scheduled", [])
    assert {each.node_name for each in decision.outcomes} <= {"n1", "n3", "n5", "n7"}
    assert len(values(made, [each.node_name for each in decision.outcomes], ZONE)) == 1


def test_preferred_within_required_topology() -> None:
    made = world(TOPOLOGY_AWARE)
    made.add_pod(pod("on-n0", "n0", **CPU))
    made.add_pod(pod("on-n4", "n4", **CPU))
    assert nodes_of(made, gang(made, 2, RACK, rack=ZONE)) in (["n2", "n3"], ["n6", "n7"])
    made = world(TOPOLOGY_AWARE)
    assert len(nodes_of(made, gang(made, 4, RACK, rack=ZONE))) == 4
    made = world(TOPOLOGY_AWARE)
    assert nodes_of(made, gang(made, 5, RACK, rack=ZONE)) == []


def test_members_follow_those_that_run() -> None:
    made = world(cpu=2)
    members = gang(made, 2)
    made.add_member(member("g-running", "g", nodeName="n5", **CPU))
    assert set(nodes_of(made, members)) <= {"n4", "n5"}


def test_unknown_labels_change_nothing() -> None:
    made = world()
    assert len(nodes_of(made, gang(made, 3, "example.com/none, ,"))) == 3


def test_racks_of_one_name_in_two_zones_are_two_racks() -> None:
    made = world()
    for i in range(8):
        made.put_node(node(f"n{i}", cpu=1, zone=f"z{i // 4}", labels={RACK: f"r{i // 2 % 2}"}))
    found = nodes_of(made, gang(made, 2))
    assert (len(values(made, found, RACK)), len(values(made, found, ZONE))) == (1, 1)
    made.add_member(member("g-running", "g", nodeName="n4", **CPU))
    assert set(nodes_of(made, gang(made, 1))) == {"n5"}


def test_keys_that_do_not_count_are_named() -> None:
    keys = f"{RACK}, a b, {RACK}, {ZONE}, c, d, e"
    made = codec.convert(api.PodGroup, pod_group("g", 2))
    made = replace(made, metadata=replace(made.metadata, annotations={PREFERRED_TOPOLOGY: keys}))
    assert pod_group_rules(made).preferred_keys == (RACK, ZONE, "c", "d")
    assert preference_problems(made.metadata) == (
        "'a b' is not the key of a label",
        f"'{RACK}' occurs twice",
        "'e' is one key too many: at most 4 count",
    )
