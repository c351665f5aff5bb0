"""Pod group cycles: a gang runs whole or not at all, and a cycle leaves the cluster as it was."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import HOSTNAME, ZONE, Json, World, away, member, near, node, pod, pod_group, selector, spread, term

from stowplan import api
from stowplan.api import codec
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.config.releases import LATEST
from stowplan.framework import Pod
from stowplan.runtime.groups import GroupDecision

GANG = LATEST.with_gates({GENERIC_WORKLOAD: True, GANG_SCHEDULING: True})
RELEASES = (GANG, GANG.with_gates({TOPOLOGY_AWARE: True}), GANG.with_gates({WORKLOAD_PREEMPTION: True}))
RACK = "example.com/rack"
APPS = ("a", "b")
NOTHING: Json = {}


def world_of(random: Random) -> World:
    world = World(release=random.choice(RELEASES), seed=random.randrange(100))
    for i in range(random.randint(1, 8)):
        labels = {RACK: random.choice(("r1", "r2", "r3"))} if random.random() < 0.9 else {}
        size: dict[str, Any] = {"cpu": random.randint(1, 4), "pods": random.choice((3, 110))}
        world.put_node(node(f"n{i}", zone=random.choice(("z1", "z2")), labels=labels, **size))
    names = sorted(world.cluster.nodes.slot_of)
    for i in range(random.randint(0, 12)):
        how = {"requests": {"cpu": random.choice(("200m", "1"))}, "labels": {"app": random.choice(APPS)}}
        priority = random.choice((0, 10, 100))
        world.add_pod(pod(f"running{i}", random.choice(names), priority=priority, **how))
    if random.random() < 0.5:
        more: Json = {"spec": {"selector": selector(app="a")}, "status": {"disruptionsAllowed": random.randint(0, 2)}}
        world.put("PodDisruptionBudget", name="b", namespace="default", **more)
    return world


def put_group(world: World, random: Random, name: str) -> list[Pod]:
    """A group of one to six members, some of which may run already."""
    size = random.randint(1, 6)
    minimum = random.choice((None, random.randint(1, size)))
    rack = RACK if random.random() < 0.3 else ""
    given = pod_group(name, minimum, rack=rack, priority=random.choice((0, 50)))
    world.cluster.put(codec.convert(api.PodGroup, given))
    shape = random.choice(
        (
            NOTHING,
            {"affinity": away(term(HOSTNAME))},
            {"affinity": away(term(ZONE))},
            {"affinity": near(term(ZONE))},
            {"topologySpreadConstraints": [spread(ZONE)]},
        )
    )
    members = []
    for i in range(size):
        how = {"requests": {"cpu": random.choice(("500m", "1", "2"))}, "labels": {"app": "a"}}
        how |= {"priority": random.choice((0, 50)), **shape}
        if random.random() < 0.1:
            how["nominated"] = random.choice(sorted(world.cluster.nodes.slot_of))
        members.append(world.add_member(member(f"{name}-{i}", name, **how)))
        world.nominator.add(members[-1])
    return members


def facts(world: World) -> object:
    """Everything that a cycle could leave changed."""
    nodes, cluster = world.cluster.nodes, world.cluster
    columns = [(info.name, list(info.pods), dict(nodes.requested_of(info.slot))) for info in nodes]
    columns += [(int(nodes.pod_count.values[info.slot]),) for info in nodes]  # type: ignore[misc]
    by_node = {name: sorted(pods) for name, pods in world.nominator.by_node.items()}
    return columns, sorted(cluster.pods), sorted(cluster.assumed), dict(cluster.priorities), by_node


def end(decision: GroupDecision) -> object:
    outcomes = [(each.pod.key, each.node_name, each.status, each.nominated) for each in decision.outcomes]
    return decision.result, outcomes, decision.condition, [pod.key for pod in decision.victims]


def check(world: World, name: str, decision: GroupDecision) -> None:
    """What holds for every decision."""
    rules = world.cluster.pod_groups.rules("default", name)
    state = world.cluster.pod_groups.get("default", name)
    assert rules is not None
    assert state is not None
    bound = [each for each in decision.outcomes if each.status is None]
    if rules.min_count is not None and bound:
        assert state.scheduled_count + len(bound) >= rules.min_count, "a partial gang"
    assert bool(bound) == (decision.result == "scheduled")
    if rules.topology_key and world.cluster.release.has(TOPOLOGY_AWARE):
        infos = [world.cluster.nodes.get(each.node_name) for each in bound]
        assert len({info.labels.get(rules.topology_key) for info in infos if info is not None}) <= 1
    assert all(victim.priority < rules.priority for victim in decision.victims)


def apply(world: World, decision: GroupDecision) -> None:
    for each in decision.outcomes:
        world.nominator.remove(each.pod)
        if each.status is None:
            world.cluster.assume(each.pod, each.node_name)
            world.cluster.pod_groups.assume(each.pod)
        elif each.nominated:
            world.nominator.add(each.pod, each.nominated)
    for victim in decision.victims:
        world.cluster.remove_pod(victim.uid)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_a_gang_runs_whole_or_not_at_all(seed: int) -> None:
    """Several groups one after the other, each decided twice: as a scheduler does, and without kept answers."""
    random = Random(seed)
    world = world_of(random)
    for number in range(random.randint(1, 4)):
        name = f"g{number}"
        members = put_group(world, random, name)
        before = facts(world)
        chance = world.rng.getstate()  # Nodes that tie for the preemption of one member are chosen at random.
        decision = world.decide_group(name, members)
        assert facts(world) == before
        world.rng.setstate(chance)
        assert end(world.decide_group(name, members, afresh=True)) == end(decision)
        check(world, name, decision)
        apply(world, decision)
        if world.cluster.pods and random.random() < 0.3:
            world.cluster.remove_pod(random.choice(sorted(world.cluster.pods)))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_placements_in_parallel_decide_alike(seed: int) -> None:
    """Members of up to three templates that read nothing but the requests on a node, in up to 30 racks, and without
    racks: with and without decisions of their own."""
    random = Random(seed)
    world = World(release=random.choice(RELEASES), seed=random.randrange(100))
    racks = random.choice((8, 8, 30))
    for i in range(random.randint(4, 3 * racks)):
        size: dict[str, Any] = {"cpu": random.randint(1, 4), "pods": random.choice((3, 110)), "example.com/gpu": i % 3}
        world.put_node(node(f"n{i}", labels={RACK: f"r{random.randrange(racks)}"}, **size))
    for number in range(3):
        name, count = f"g{number}", random.randint(4, 12)
        minimum, rack = random.choice((None, count, count // 2)), random.choice(("", RACK, RACK))
        world.cluster.put(codec.convert(api.PodGroup, pod_group(name, minimum, rack=rack)))
        shapes: list[Json] = [{"cpu": "500m"}, {"cpu": "1"}, {"example.com/gpu": "1", "cpu": "100m"}]
        shapes = random.sample(shapes, random.randint(1, 3))
        members = [
            world.add_member(member(f"{name}-{i}", name, requests=random.choice(shapes), labels={"app": "a"}))
            for i in range(count)
        ]
        before = facts(world)
        decision = world.decide_group(name, members, in_parallel=True)
        assert facts(world) == before
        expected = world.decide_group(name, members, afresh=True)
        assert end(decision) == end(expected)
        if decision.search is not None and expected.search is not None:
            assert decision.search.scored == expected.search.scored
        check(world, name, decision)
        apply(world, decision)


def test_placements_are_tried_in_parallel() -> None:
    world = World(release=RELEASES[1])
    for i in range(20):
        world.put_node(node(f"n{i}", labels={RACK: f"r{i % 5}"}, cpu=4))
    world.cluster.put(codec.convert(api.PodGroup, pod_group("g", 8, rack=RACK)))
    members = [world.add_member(member(f"g-{i}", "g", requests={"cpu": "1"})) for i in range(8)]
    decision = world.decide_group("g", members, in_parallel=True)
    assert decision.result == "scheduled"
    assert decision.search is not None
    assert (len(decision.search.placements), len(decision.search.scored), len(decision.search.trials)) == (5, 5, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_v136_leaves_no_traces_either(seed: int) -> None:
    """The way of v1.36 hides counts during a cycle and shows them again."""
    random = Random(seed)
    world = world_of(random)
    members = put_group(world, random, "g")
    chance = world.rng.getstate()
    expected = end(world.decide_group("g", members, afresh=True))
    before = facts(world)
    check(world, "g", world.decide_group("g", members, stale_affinity=True))
    assert facts(world) == before
    world.rng.setstate(chance)
    assert end(world.decide_group("g", members, afresh=True)) == expected
