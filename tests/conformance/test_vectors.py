"""Known answers to small questions: numbers that kube-scheduler's own tests and formulas give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from tests.builders import (
    HOSTNAME,
    ZONE,
    Json,
    World,
    away,
    container,
    expressions,
    near,
    node,
    node_affinity,
    only,
    pod,
    profile_config,
    selector,
    spread,
    term,
    weighted,
)

from stowplan.cache.requests import scheduling_requests
from stowplan.framework import Code, CycleState, NodeInfo, Nodes, Plugin, Pod, Status, reject
from stowplan.runtime.decide.scoring import normalize

Amounts = tuple[int, int]


def scores(world: World, item: Json, name: str) -> tuple[list[int], list[int]]:
    """(raw, normalised) scores that a plugin gives to all nodes, feasible or not, in the order of their names."""
    (plugin,) = [plugin for plugin, _ in world.profile.scorers if plugin.name == name]
    table = world.cluster.nodes
    nodes = table.subset(np.array([table.slot_of[n] for n in sorted(table.slot_of)], dtype=np.intp))
    state, newcomer = CycleState(), world.pod(item)
    skipped = plugin in world.profile.pre_scores and plugin.pre_score(state, newcomer, nodes) is not None
    if skipped:
        return [0] * len(nodes), [0] * len(nodes)
    raw = plugin.score_nodes(state, newcomer, nodes)
    final = normalize(plugin, state, newcomer, raw.copy(), nodes)
    return raw.tolist(), final.tolist()


def sized(cpu: int, memory: int, name: str = "n", **extra: str) -> Json:
    return node(name, f"{cpu}m", memory, extra=extra)


def asking(name: str, cpu: int, memory: int, on: str = "", **extra: int) -> Json:
    """A pod whose requests are all spoken out, so that no defaults are assumed."""
    return pod(name, on, requests={"cpu": f"{cpu}m", "memory": memory, **extra})


def strategy(kind: str, *resources: tuple[str, int], shape: Iterable[Amounts] = ()) -> Json:
    args: Json = {"type": kind, "resources": [{"name": name, "weight": weight} for name, weight in resources]}
    if shape:
        args["requestedToCapacityRatio"] = {"shape": [{"utilization": x, "score": y} for x, y in shape]}
    return profile_config(args={"NodeResourcesFit": {"scoringStrategy": args}})


BOTH = (("cpu", 1), ("memory", 1))


@pytest.mark.parametrize(
    ("existing", "request_", "allocatable", "score"),
    [
        ((0, 0), (3000, 5000), (4000, 10000), 37),
        ((0, 0), (3000, 5000), (6000, 10000), 50),
        ((6000, 0), (0, 0), (10000, 20000), 70),
        ((3000, 0), (3000, 5000), (10000, 20000), 57),
        ((3000, 5000), (3000, 5000), (10000, 20000), 45),
        ((3000, 0), (3000, 0), (4000, 10000), 50),
    ],
)
def test_least_allocated(existing: Amounts, request_: Amounts, allocatable: Amounts, score: int) -> None:
    world = World([sized(*allocatable)], [asking("r", *existing, on="n")])
    assert scores(world, asking("p", *request_), "NodeResourcesFit")[0] == [score]


def test_most_allocated() -> None:
    world = World([sized(4000, 10000)], config=strategy("MostAllocated", *BOTH))
    assert scores(world, asking("p", 3000, 5000), "NodeResourcesFit")[0] == [62]


@pytest.mark.parametrize(
    ("shape", "resources", "request_", "score"),
    [
        ([(0, 0), (100, 10)], (("cpu", 1),), (30, 0), 30),
        ([(0, 10), (100, 0)], (("cpu", 1),), (30, 0), 70),
        ([(0, 0), (100, 10)], BOTH, (50, 0), 50),
        ([(0, 0), (100, 10)], BOTH, (50, 25), 38),
        ([(0, 10), (50, 3), (100, 4)], (("cpu", 1),), (33, 0), 54),
        ([(20, 4), (80, 6)], (("cpu", 1),), (10, 0), 40),
        ([(20, 4), (80, 6)], (("cpu", 1),), (120, 0), 60),
    ],
)
def test_requested_to_capacity_ratio(
    shape: list[Amounts], resources: tuple[tuple[str, int], ...], request_: Amounts, score: int
) -> None:
    """A resource that scores nothing does not count; halves are rounded up; falling lines are cut towards zero."""
    world = World([sized(100, 100)], config=strategy("RequestedToCapacityRatio", *resources, shape=shape))
    assert scores(world, asking("p", *request_), "NodeResourcesFit")[0] == [score]


@pytest.mark.parametrize(
    ("existing", "request_", "allocatable", "score"),
    [
        ((0, 0), (3000, 5000), (4000, 10000), 68),
        ((0, 0), (3000, 5000), (6000, 10000), 75),
        ((3000, 0), (3000, 5000), (10000, 20000), 73),
        ((3000, 5000), (3000, 5000), (10000, 20000), 74),
        ((3000, 5000), (3000, 5000), (10000, 50000), 70),
        ((6000, 0), (0, 10000), (6000, 10000), 100),
        ((0, 0), (6000, 0), (6000, 10000), 50),
    ],
)
def test_balanced_allocation(existing: Amounts, request_: Amounts, allocatable: Amounts, score: int) -> None:
    world = World([sized(*allocatable)], [asking("r", *existing, on="n")])
    assert scores(world, asking("p", *request_), "NodeResourcesBalancedAllocation")[0] == [score]


def test_balanced_allocation_of_three_resources() -> None:
    names = ("cpu", "memory", "nvidia.com/gpu")
    args = {"NodeResourcesBalancedAllocation": {"resources": [{"name": name, "weight": 1} for name in names]}}
    nodes = [sized(3500, 40000, **{"nvidia.com/gpu": "8"})]
    world = World(nodes, [asking("r", 3000, 5000, "n", **{"nvidia.com/gpu": 3})], config=profile_config(args=args))
    item = asking("p", 0, 0, **{"nvidia.com/gpu": 1})
    assert scores(world, item, "NodeResourcesBalancedAllocation")[0] == [75]


@pytest.mark.parametrize(("skew", "expected"), [(1, [20, 60, 100, 0]), (2, [33, 66, 100, 16])])
def test_spread_over_hosts(skew: int, expected: list[int]) -> None:
    counts = {"n0": 2, "n1": 1, "n2": 0, "n3": 3}
    running = [pod(f"{name}-{i}", name, labels={"app": "a"}) for name, count in counts.items() for i in range(count)]
    world = World(map(node, counts), running)
    item = pod("p", labels={"app": "a"}, topologySpreadConstraints=[spread(HOSTNAME, skew, hard=False)])
    assert scores(world, item, "PodTopologySpread")[1] == expected


def test_spread_by_a_selector_of_nothing() -> None:
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
    world = World([node("n0"), node("n1")], [pod("r", "n0", labels={"app": "a"})])
    assert scores(world, pod("p", topologySpreadConstraints=[constraint]), "PodTopologySpread")[1] == [100, 100]


def test_spread_over_a_single_candidate() -> None:
    world = World([node("n0")], [pod("r", "n0", labels={"app": "a"})])
    item = pod("p", topologySpreadConstraints=[spread(HOSTNAME, hard=False)])
    assert scores(world, item, "PodTopologySpread")[1] == [100]


@pytest.mark.parametrize(
    ("more", "passes"), [({}, {"z1": False, "z2": True}), ({"minDomains": 3}, {"z1": False, "z2": False})]
)
def test_spread_filter(more: Json, passes: dict[str, bool]) -> None:
    nodes = [node(f"n{i}", zone="z1" if i < 3 else "z2") for i in range(5)]
    world = World(nodes, [pod(f"r{i}", f"n{i}", labels={"app": "a"}) for i in range(5)])
    diagnosis = world.diagnosis(pod("p", labels={"app": "a"}, topologySpreadConstraints=[spread(**more)]))
    assert {info.labels[ZONE]: diagnosis.status_of(info.slot) is None for info in world.cluster.nodes} == passes


@pytest.mark.parametrize(
    ("image", "expected"), [("app:1", [10, 0]), ("app", [0, 0]), ("registry:5000/app", [0, 0]), ("gone:1", [0, 0])]
)
def test_image_locality(image: str, expected: list[int]) -> None:
    images = [{"names": ["app:1"], "sizeBytes": 250 << 20}]
    world = World([node("n0", images=images), node("n1")])
    assert scores(world, pod("p", containers=[container(image=image)]), "ImageLocality")[0] == expected


@pytest.mark.parametrize(("taints", "expected"), [((0, 1, 2), [100, 50, 0]), ((0, 0), [100, 100]), ((1, 1), [0, 0])])
def test_taint_toleration(taints: tuple[int, ...], expected: list[int]) -> None:
    soft = [{"key": f"k{i}", "effect": "PreferNoSchedule"} for i in range(2)]
    world = World([node(f"n{i}", taints=soft[:count]) for i, count in enumerate(taints)])
    assert scores(world, pod("p"), "TaintToleration") == (list(taints), expected)


@pytest.mark.parametrize(("tiers", "expected"), [((0, 1, 2), [0, 50, 100]), ((0, 0, 0), [0, 0, 0])])
def test_node_affinity(tiers: tuple[int, ...], expected: list[int]) -> None:
    preferred = [{"weight": 3, "preference": expressions("tier", "Gt", str(i))} for i in range(2)]
    world = World([node(f"n{i}", labels={"tier": str(tier)}) for i, tier in enumerate(tiers)])
    raw, final = scores(world, pod("p", affinity=node_affinity(preferred=preferred)), "NodeAffinity")
    assert raw == [3 * tier for tier in tiers]
    assert final == expected


@pytest.mark.parametrize(
    ("apps", "raw", "final"), [(("hated", "", "loved"), [-5, 0, 5], [0, 50, 100]), (("loved", "loved"), [5, 5], [0, 0])]
)
def test_inter_pod_affinity(apps: tuple[str, ...], raw: list[int], final: list[int]) -> None:
    running = [pod(f"r{i}", f"n{i}", labels={"app": app}) for i, app in enumerate(apps)]
    world = World([node(f"n{i}") for i in range(len(apps))], running)
    love, hate = weighted(5, term(HOSTNAME, "loved")), weighted(5, term(HOSTNAME, "hated"))
    item = pod("p", affinity=near(preferred=[love]) | away(preferred=[hate]))
    assert scores(world, item, "InterPodAffinity") == (raw, final)


@pytest.mark.parametrize(
    ("ip", "protocol", "fits"),
    [("", "TCP", False), ("0.0.0.0", "", False), ("127.0.0.2", "TCP", True), ("", "UDP", True)],
)
def test_host_ports(ip: str, protocol: str, fits: bool) -> None:
    def holder(name: str, on: str, ip: str, protocol: str) -> Json:
        port = {"hostPort": 8080, "containerPort": 8080, "hostIP": ip, "protocol": protocol}
        return pod(name, on, containers=[container(ports=[port])])

    world = World([node("n")], [holder("r", "n", "127.0.0.1", "TCP")])
    assert bool(world.decide(holder("p", "", ip, protocol)).node_name) == fits


@pytest.mark.parametrize(("order", "cpu"), [("21s", 3000), ("s21", 3000), ("4s", 4000), ("s4", 5000), ("ss3", 5000)])
def test_pod_requests(order: str, cpu: int) -> None:
    """Digits are init containers with so many CPUs, s is a sidecar with one; two containers of one CPU each run on."""
    init = [
        {**container(f"i{i}", cpu=1), "restartPolicy": "Always"} if sort == "s" else container(f"i{i}", cpu=int(sort))
        for i, sort in enumerate(order)
    ]
    item = pod("p", containers=[container("a", cpu=1), container("b", cpu=1)], initContainers=init)
    assert scheduling_requests(World().pod(item).spec)[0] == {"cpu": cpu}


class Refuses(Plugin):
    """Refuses some nodes, by the point and the nodes that its args name."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject(f"Node(s) failed Filter plugin {self.name}") if node.name in (self.args or {})["nodes"] else None


class RefusesEarly(Plugin):
    name = "FalsePreFilter"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status:
        return reject("Node(s) failed PreFilter plugin FalsePreFilter")


class Comments(Plugin):
    name = "FalsePostFilter"

    def post_filter(self, state: CycleState, pod: Pod, statuses: Any) -> Status:
        return reject("Error running PostFilter FailedPostFilter")


NODES = [node(f"n{i}") for i in range(3)]
REFUSING = {f"FalseFilter-{i}": type("Refuses", (Refuses,), {"name": f"FalseFilter-{i}"}) for i in (1, 2)}
REFUSED = {"FalseFilter-1": {"nodes": ["n0", "n2"]}, "FalseFilter-2": {"nodes": ["n1"]}}
HISTOGRAM = "1 Node(s) failed Filter plugin FalseFilter-2, 2 Node(s) failed Filter plugin FalseFilter-1."


@pytest.mark.parametrize(
    ("plugins", "point", "message"),
    [
        (REFUSING, only("postFilter"), f"0/3 nodes are available: {HISTOGRAM}"),
        (
            REFUSING | {"FalsePostFilter": Comments},
            only("postFilter", "FalsePostFilter"),
            f"0/3 nodes are available: {HISTOGRAM} Error running PostFilter FailedPostFilter",
        ),
        (
            {"FalsePreFilter": RefusesEarly},
            only("postFilter"),
            "0/3 nodes are available: Node(s) failed PreFilter plugin FalsePreFilter.",
        ),
    ],
)
def test_fit_error(plugins: dict[str, Any], point: Json, message: str) -> None:
    args = {name: values for name, values in REFUSED.items() if name in plugins}
    world = World(NODES, plugins=plugins, config=profile_config(point, args))
    for _ in range(3):
        assert world.decide(pod("p")).message == message


def test_preemption_spares_the_protected() -> None:
    """Fewer violations of disruption budgets beat victims of lower priority; among equals, the lower priority goes."""

    def victim(name: str, on: str, priority: int, app: str = "free") -> Json:
        return pod(name, on, labels={"app": app}, priority=priority, requests={"cpu": 4})

    world = World([node("n0"), node("n1"), node("n2")])
    for item in (victim("guarded", "n0", 1, "guarded"), victim("high", "n1", 9), victim("low", "n2", 5)):
        world.add_pod(item)
    world.put("PodDisruptionBudget", name="b", namespace="default", spec={"selector": selector(app="guarded")})
    decision = world.decide(pod("p", priority=10, requests={"cpu": 3}))
    assert decision.preemption is not None
    assert decision.preemption.node_name == "n2"
    assert [candidate.violations for candidate in decision.preemption.candidates] in ([1, 0, 0], [0, 1, 0], [0, 0, 1])
    assert decision.message == "0/3 nodes are available: 3 Insufficient cpu."
    statuses = world.diagnosis(pod("p", priority=10, requests={"cpu": 3})).node_statuses()
    assert {status.code for status in statuses.values()} == {Code.Unschedulable}
