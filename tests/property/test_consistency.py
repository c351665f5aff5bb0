"""However a cluster came about, its columns, counts and verdicts are those of one that was put together at once."""

from __future__ import annotations

import os

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.builders import ZONE, World, away, node, pod, spread, term
from tests.property.facts import KEYS, Facts, Interests, check_bounds, columns
from tests.property.vocabulary import CONFIGS, NODES, PODS
from tests.property.walk import NAMES, STEPS, Step, Walk

from stowplan.framework import Pod
from stowplan.runtime.decide.decision import record_of

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "60"))

node_shapes = st.lists(st.integers(0, len(NODES) - 1), max_size=len(NAMES))
pod_shapes = st.integers(0, len(PODS) - 1)
steps = st.tuples(st.sampled_from(sorted(STEPS)), pod_shapes, st.integers(0, 30))
walks = st.lists(steps, min_size=1, max_size=40)
quick = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])


def in_no_order(told: Facts) -> Facts:
    """Which pods a node holds matters here, not since when."""
    return {key: {**v, "residents": sorted(v["residents"])} if "residents" in v else v for key, v in told.items()}


@quick
@given(node_shapes, walks)
def test_columns_and_counts(nodes: list[int], walked: list[Step]) -> None:
    walk = Walk(nodes)
    live = Interests(walk.world)
    for step in walked:
        walk.take(step)
    twin = walk.rebuilt()
    assert in_no_order(columns(walk.cluster)) == in_no_order(columns(twin.cluster))
    assert live.facts() == Interests(twin.world).facts()


@quick
@given(node_shapes, walks)
@example([0], [("run", 27, 0), ("run", 0, 0), ("place", 29, 0)])  # labels of a replica begin to matter
def test_residents_are_listed_in_order_of_arrival(nodes: list[int], walked: list[Step]) -> None:
    """The order decides which of two equal pods is evicted."""
    walk = Walk(nodes)
    for step in walked:
        walk.take(step)
    arrived = list(walk.cluster.pods)
    for info in walk.cluster.nodes:
        assert list(info.pods) == [uid for uid in arrived if uid in info.pods]


@quick
@given(node_shapes, walks, st.lists(st.tuples(st.booleans(), pod_shapes, st.integers(0, 30)), max_size=12))
def test_what_if_leaves_no_trace(nodes: list[int], walked: list[Step], what_ifs: list[tuple[bool, int, int]]) -> None:
    walk = Walk(nodes or [0])
    live = Interests(walk.world)
    for step in walked:
        walk.take(step)
    before = columns(walk.cluster), live.facts()
    with walk.cluster.what_if() as journal:
        for adds, shape, which in what_ifs:
            infos = list(walk.cluster.nodes)
            if not infos:
                break
            info = infos[which % len(infos)]
            residents = list(info.pods.values())
            if adds:
                journal.add(walk.pod(shape), info)
            elif residents:
                journal.remove(residents[shape % len(residents)], info)
    assert not walk.cluster.journal.active
    assert (columns(walk.cluster), live.facts()) == before


@quick
@given(node_shapes, walks, st.integers(0, len(CONFIGS) - 1), st.lists(pod_shapes, min_size=1, max_size=4))
def test_verdicts(nodes: list[int], walked: list[Step], config: int, asked: list[int]) -> None:
    walk = Walk(nodes or [0], config)
    early = walk.wait(asked)
    for step in walked:
        walk.take(step)
    twin = walk.rebuilt()
    if len(twin.cluster.nodes):
        for pod in early:
            assert verdict(walk, pod) == verdict(twin, twin.world.pod(walk.items[pod.uid]))


def verdict(walk: Walk, pod: Pod) -> dict[str, object]:
    """What is said of every node; not which of equal nodes is named first."""
    told = msgspec.structs.asdict(record_of(walk.world.diagnosis(pod), None))
    return {**told, "tied": sorted(told["tied"]), "funnel": None}


@quick
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 7)), max_size=120))
def test_tables_are_bounded_by_the_nodes_that_are_there(churn: list[tuple[bool, int]]) -> None:
    """Every node brings names of its own, and a pod comes that reads them."""
    world = World()
    held = [world.cluster.nodes.label(key) for key in KEYS]
    for serial, (comes, which) in enumerate(churn):
        name, own = f"n{which}", f"own-{serial}"
        if not comes:
            world.cluster.remove_node(name)
        else:
            offer = node(
                name,
                zone=own,
                labels={own: "v", "rack": own},
                taints=[{"key": own, "effect": "PreferNoSchedule"}],
                images=[{"names": [own], "sizeBytes": 1}],
                extra={f"example.com/{own}": "1"},
            )
            world.put_node(offer)
        selected = {own: "v", **({f"no-{serial}": "v"} if which % 2 else {})}
        requests = {f"example.com/{own}": 1, f"example.com/no-{which}": int(which % 3 == 0)}
        constraints = [spread(ZONE), spread("rack", hard=False)]
        more = {"nodeSelector": selected, "topologySpreadConstraints": constraints, "affinity": away(term(own))}
        newcomer = world.pod(pod(own, requests=requests, **more))
        chosen = world.decide(newcomer)
        assert chosen.node_name == world.afresh(newcomer).node_name
        assert bool(chosen.node_name) == (comes and not which % 2 and which % 3 != 0)
        del newcomer
        check_bounds(world.cluster)
    for key, column in zip(KEYS, held, strict=True):
        assert world.cluster.nodes.label(key) is column
        assert column.present == sum(key in info.labels for info in world.cluster.nodes)
