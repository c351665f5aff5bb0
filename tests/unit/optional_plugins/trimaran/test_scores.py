"""Scores by load: tables worked out by hand, and 1,000 random nodes compared with plain references."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from math import lgamma, sqrt
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.builders import Json, World, container, node, pod
from tests.unit.optional_plugins.test_registry import configuration

from stowplan.framework import CycleState
from stowplan.optional_plugins.trimaran.beta_distribution import BetaDistribution, beta_distribution

GIB = 1 << 30


def metric(type_: str, operator: str, value: float) -> Json:
    return {"name": "m", "type": type_, "operator": operator, "rollup": "15m", "value": value}


def cpu_and_memory(cpu: float, cpu_deviation: float, memory: float, memory_deviation: float) -> list[Json]:
    return [
        metric("CPU", "AVG", cpu),
        metric("CPU", "STD", cpu_deviation),
        metric("Memory", "AVG", memory),
        metric("Memory", "STD", memory_deviation),
    ]


def loaded(
    folder: Path, plugin: str, loads: dict[str, list[Json]], nodes: list[Json], args: Json | None = None, end: int = 0
) -> World:
    """A cluster with a plugin that reads its metrics from a file."""
    file = folder / "load.json"
    watched = {name: {"metrics": metrics} for name, metrics in loads.items()}
    file.write_text(json.dumps({"window": {"end": end}, "data": {"NodeMetricsMap": watched}}))
    settings = {**(args or {}), "metricProvider": {"type": "File", "address": str(file)}}
    enabled = {"score": {"enabled": [{"name": plugin}]}}
    return World(nodes, config=configuration(enabled, {"name": plugin, "args": settings}))


def raw_scores(world: World, plugin: str, item: Json) -> dict[str, int]:
    """The scores by node; both forms agree."""
    scorer: Any = world.plugin(plugin)
    newcomer, nodes = world.pod(item), world.cluster.nodes.everything()
    vector = scorer.score_nodes(CycleState(), newcomer, nodes)
    single = {info.name: scorer.score(CycleState(), newcomer, info) for _, info in nodes.infos()}
    assert single == {info.name: vector[position] for position, info in nodes.infos()}
    return single


def sized(name: str, cpu: str = "10", memory: str = "10Gi") -> Json:
    return node(name, cpu=cpu, memory=memory, status={"capacity": {"cpu": cpu, "memory": memory}})


def with_resources(requests: Json, limits: Json | None = None) -> list[Json]:
    return [{**container(), "resources": {"requests": requests, "limits": limits or {}}}]


PACKING = "TargetLoadPacking"


@pytest.mark.parametrize(
    ("metrics", "requests", "limits", "args", "expected"),
    [
        # u = 10 % + 1.5 x 1000m of 10 cores = 25 %; 60 x 25 / 40 + 40 = 77.5.
        ([metric("CPU", "AVG", 10)], {"cpu": "1"}, {}, {}, 78),
        ([metric("CPU", "Latest", 10)], {"cpu": "1"}, {}, {}, 78),
        ([metric("CPU", "AVG", 90), metric("CPU", "Latest", 10)], {"cpu": "1"}, {}, {}, 78),  # The last one counts.
        ([metric("CPU", "AVG", 10)], {"cpu": "1"}, {"cpu": "2"}, {}, 85),  # u = 30 %
        ([metric("CPU", "AVG", 10)], {}, {}, {}, 70),  # u = 20 %
        ([metric("CPU", "AVG", 10)], {}, {}, {"defaultRequests": {"cpu": "3"}}, 100),  # u = 40 %
        ([metric("CPU", "AVG", 50)], {"cpu": "1"}, {}, {}, 23),  # u = 65 %; 40 x 35 / 60
        ([metric("CPU", "AVG", 50)], {"cpu": "1"}, {}, {"targetUtilization": 65}, 100),
        ([metric("CPU", "AVG", 10)], {"cpu": "1"}, {}, {"defaultRequestsMultiplier": "3"}, 100),
        ([metric("CPU", "AVG", 90)], {"cpu": "1"}, {}, {}, 0),  # u = 105 %
        ([metric("CPU", "AVG", 85)], {"cpu": "1"}, {}, {}, 0),  # u = 100 %
        ([metric("CPU", "STD", 10)], {"cpu": "1"}, {}, {}, 0),
        ([metric("Memory", "AVG", 10)], {"cpu": "1"}, {}, {}, 0),
        ([metric("CPU", "AVG", -10)], {"cpu": "1"}, {}, {}, 0),
        ([], {"cpu": "1"}, {}, {}, 0),
        ([metric("CPU", "Latest", 90), metric("CPU", "AVG", 10)], {"cpu": "1"}, {}, {}, 78),  # In either order.
        ([metric("CPU", "AVG", 40)], {}, {"cpu": "0"}, {}, 100),  # A limit of 0 is a limit: u = T.
        ([metric("CPU", "AVG", 41)], {}, {"cpu": "0"}, {}, 39),  # Just above T: 40 x 59 / 60 = 39.3.
        ([metric("CPU", "AVG", 0)], {}, {"cpu": "0"}, {}, 40),  # An idle node gets T.
        ([metric("CPU", "AVG", 0)], {"cpu": "333m"}, {}, {}, 48),  # 333m x 1.5 = 499.5, rounded 500: u = 5 %, 47.5.
        ([metric("CPU", "AVG", 150)], {"cpu": "1"}, {}, {}, 0),  # More than there is.
        ([metric("CPU", "AVG", 85)], {"cpu": "1"}, {}, {"targetUtilization": 100}, 100),
        ([metric("CPU", "AVG", 35)], {"cpu": "1"}, {}, {"targetUtilization": 100}, 100),  # (100 - T) x u / T is 0.
        ([metric("CPU", "AVG", 10)], {"cpu": "1"}, {}, {"targetUtilization": 0}, 78),  # The default.
        ([metric("CPU", "AVG", 10)], {"cpu": "1"}, {}, {"defaultRequestsMultiplier": ""}, 78),
        ([metric("CPU", "AVG", 10)], {"cpu": "1"}, {}, {"defaultRequestsMultiplier": "0"}, 55),  # u = 10 %
        ([metric("CPU", "AVG", 10)], {}, {}, {"defaultRequests": {"memory": "1Gi"}}, 55),
    ],
)
def test_packing(tmp_path: Path, metrics: list[Json], requests: Json, limits: Json, args: Json, expected: int) -> None:
    world = loaded(tmp_path, PACKING, {"n": metrics}, [sized("n"), sized("unknown")], args)
    item = pod("p", containers=with_resources(requests, limits))
    assert raw_scores(world, PACKING, item) == {"n": expected, "unknown": 0}


def test_packing_counts_pods_that_the_metrics_do_not_have_yet(tmp_path: Path) -> None:
    end = 1_767_225_600  # 2026-01-01T00:00:00Z
    world = loaded(tmp_path, PACKING, {"n": [metric("CPU", "AVG", 0)]}, [sized("n")], end=end)
    item = pod("p", overhead={"cpu": "500m"}, containers=with_resources({}, {"cpu": "500m"}))  # Together 1000m.
    assert raw_scores(world, PACKING, item) == {"n": 55}  # u = 10 %

    def add(name: str, started: str) -> None:
        containers = with_resources({}, {"cpu": "1"})
        world.add_pod(pod(name, "n", containers=containers, status={"startTime": started} if started else {}))

    add("old", "2025-12-31T23:59:00Z")  # 60 s before the end.
    assert raw_scores(world, PACKING, item) == {"n": 55}
    add("new", "2025-12-31T23:59:01Z")
    assert raw_scores(world, PACKING, item) == {"n": 70}  # u = 20 %
    add("not-started", "")
    assert raw_scores(world, PACKING, item) == {"n": 85}


def test_metrics_without_the_end_of_their_window_have_all_pods_that_started(tmp_path: Path) -> None:
    world = loaded(tmp_path, PACKING, {"n": [metric("CPU", "AVG", 0)]}, [sized("n")])
    limits = with_resources({}, {"cpu": "1"})
    world.add_pod(pod("old", "n", containers=limits, status={"startTime": "2025-12-31T23:59:00Z"}))
    assert raw_scores(world, PACKING, pod("p", containers=limits)) == {"n": 55}  # u = 10 %
    world.add_pod(pod("not-started", "n", containers=limits))
    assert raw_scores(world, PACKING, pod("p", containers=limits)) == {"n": 70}


def test_packing_reads_the_capacity_and_ignores_init_containers(tmp_path: Path) -> None:
    half = node("n", cpu="5", memory="10Gi", status={"capacity": {"cpu": "10", "memory": "10Gi"}})
    world = loaded(tmp_path, PACKING, {"n": [metric("CPU", "AVG", 10)], "none": [metric("CPU", "AVG", 10)]}, [half])
    init = [{**container("i"), "resources": {"limits": {"cpu": "9"}}}]
    # Limit 1, request 1 x 1.5, nothing 1, overhead 0.5: 4 of 10 cores, with the load 5. 40 x 50 / 60 = 33.3.
    containers = [
        {**container(f"c{i}"), "resources": each}
        for i, each in enumerate(
            ({"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}, {"requests": {"cpu": "1"}}, {})
        )
    ]
    item = pod("p", overhead={"cpu": "500m"}, initContainers=init, containers=containers)
    assert raw_scores(world, PACKING, item) == {"n": 33}


def test_packing_of_a_node_without_cpu(tmp_path: Path) -> None:
    """Without a capacity nothing can be predicted: u = 0."""
    world = loaded(tmp_path, PACKING, {"n": [metric("CPU", "AVG", 10)]}, [sized("n", cpu="0")])
    assert raw_scores(world, PACKING, pod("p", containers=with_resources({"cpu": "1"}))) == {"n": 40}


BALANCING = "LoadVariationRiskBalancing"


@pytest.mark.parametrize(
    ("metrics", "args", "expected"),
    [
        # cpu: mean 40 % + 1 of 10 cores = 0.5, deviation 0.2: 65. memory: 0.2 + 0.1 = 0.3, deviation 0.1: 80.
        (cpu_and_memory(40, 20, 20, 10), {}, 65),
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceMargin": 2}, 55),
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceMargin": -2}, 65),
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceSensitivity": 2}, 53),  # sqrt(0.2) = 0.447
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceSensitivity": 0}, 75),  # 0.2 to the power of infinity
        (cpu_and_memory(95, 200, 20, 10), {}, 0),
        (cpu_and_memory(40, 20, 80, 70), {}, 20),
        (cpu_and_memory(40, 20, 20, 10)[:2], {}, 65),
        (cpu_and_memory(40, 20, 20, 10)[2:], {}, 80),
        ([metric("CPU", "Latest", 40)], {}, 75),
        ([metric("CPU", "AVG", 40), metric("CPU", "Latest", 90)], {}, 75),
        ([], {}, 0),
        ([metric("CPU", "STD", 20)], {}, 85),  # No average: 0, and the pod. (0.1 + 0.2) / 2
        ([metric("GPU", "AVG", 20)], {}, 0),
        (cpu_and_memory(250, 0, 20, 10), {}, 50),  # More than there is counts as all of it.
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceMargin": 0}, 75),
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceMargin": 100}, 25),  # The deviation is at most 1.
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceSensitivity": 0.5}, 73),  # 0.2 squared: 73, not 65.
        (cpu_and_memory(40, 20, 20, 10), {"safeVarianceSensitivity": -1}, 65),
        (cpu_and_memory(40, 100, 20, 10), {"safeVarianceSensitivity": 0}, 25),  # 1 to the power of infinity is 1.
        (cpu_and_memory(40, 0, 20, 0), {"safeVarianceSensitivity": 0}, 75),
    ],
)
def test_balancing(tmp_path: Path, metrics: list[Json], args: Json, expected: int) -> None:
    world = loaded(tmp_path, BALANCING, {"n": metrics}, [sized("n"), sized("unknown")], args)
    item = pod("p", containers=with_resources({"cpu": "1", "memory": "1Gi"}))
    assert raw_scores(world, BALANCING, item) == {"n": expected, "unknown": 0}


def test_balancing_reads_allocatable_amounts_and_the_largest_request(tmp_path: Path) -> None:
    """Allocatable 5 of 10 cores. The init container is larger than the containers together; the overhead is added."""
    half = node("n", cpu="5", memory="10Gi", status={"capacity": {"cpu": "10", "memory": "10Gi"}})
    world = loaded(tmp_path, BALANCING, {"n": [metric("CPU", "AVG", 20)]}, [half])
    init = [{**container("i"), "resources": {"requests": {"cpu": "1500m"}}}]
    containers = [{**container(f"c{i}"), "resources": {"requests": {"cpu": "500m"}}} for i in range(2)]
    item = pod("p", overhead={"cpu": "500m"}, initContainers=init, containers=containers)
    assert raw_scores(world, BALANCING, item) == {"n": 70}  # 0.2 + 2 / 5 = 0.6


def test_balancing_of_a_node_without_cpu(tmp_path: Path) -> None:
    world = loaded(tmp_path, BALANCING, {"n": cpu_and_memory(0, 0, 0, 0)}, [sized("n", cpu="0")])
    assert raw_scores(world, BALANCING, pod("p", containers=with_resources({"cpu": "1"}))) == {"n": 0}


LOW_RISK = "LowRiskOverCommitment"


@pytest.mark.parametrize(
    ("metrics", "args", "expected"),
    [
        # Requests 4 + 2, limits 8 + 4 of 10 cores: risk by limits (12 - 10) / (12 - 6) = 1/3, half of it counts.
        (cpu_and_memory(0, 0, 0, 0), {}, 83),
        (cpu_and_memory(0, 0, 0, 0), {"riskLimitWeights": {"cpu": 1, "memory": 1}}, 67),
        (cpu_and_memory(0, 0, 0, 0), {"riskLimitWeights": {"cpu": 2, "memory": 1}}, 83),
        (cpu_and_memory(80, 0, 0, 0), {}, 33),  # 80 % is above the requested 40 %: 1/6 + 1/2
        (cpu_and_memory(40, 0, 0, 0), {}, 83),
        # Mean 0.5, deviation sqrt(1/12) after smoothing by 1: uniform. P(X <= 0.4) / P(X <= 0.8) = 1/2.
        (cpu_and_memory(50, 100 * sqrt(1 / 12), 0, 0), {"smoothingWindowSize": 1}, 58),
        (cpu_and_memory(50, 100 * sqrt(1 / 48), 0, 0), {"smoothingWindowSize": 4}, 58),
        # A deviation so small that the parameters of its distribution exceed a float counts as none.
        *((cpu_and_memory(80, 10.0**-digits, 0, 0), {}, 33) for digits in (20, 150, 152, 154, 300)),
        ([], {}, 0),
        (cpu_and_memory(80, 0, 0, 0), {"riskLimitWeights": {"cpu": 0, "memory": 0}}, 0),  # The load alone.
        (cpu_and_memory(80, 0, 0, 0), {"riskLimitWeights": {"cpu": 1}}, 67),  # The limits alone.
        (cpu_and_memory(80, 0, 0, 0), {"riskLimitWeights": {"cpu": -1}}, 33),  # Out of range: 0.5.
        (cpu_and_memory(50, 100 * sqrt(1 / 60), 0, 0), {"smoothingWindowSize": 0}, 58),  # The default, 5: uniform.
        (cpu_and_memory(50, 100 * sqrt(1 / 60), 0, 0), {"smoothingWindowSize": -3}, 58),
        ([metric("CPU", "Latest", 80)], {}, 33),
        ([metric("CPU", "Latest", 90), metric("CPU", "AVG", 0)], {}, 83),
        ([metric("Memory", "AVG", 50)], {}, 83),  # No cpu metrics: no risk by load. Without pods, memory has none.
        (cpu_and_memory(100, 0, 0, 0), {}, 33),  # Always all of it.
        (cpu_and_memory(300, 50, 0, 0), {}, 33),  # More than there is counts as all of it.
        # At most 0.99 of the largest variance: almost 0 or almost 1. P(X <= 0.4) / P(X <= 0.8) is almost 1.
        (cpu_and_memory(50, 100, 0, 0), {}, 83),
    ],
)
def test_low_risk(tmp_path: Path, metrics: list[Json], args: Json, expected: int) -> None:
    world = loaded(tmp_path, LOW_RISK, {"n": metrics}, [sized("n"), sized("unknown")], args)
    world.add_pod(pod("other", "n", containers=with_resources({"cpu": "4"}, {"cpu": "8"})))
    item = pod("p", containers=with_resources({"cpu": "2"}, {"cpu": "4"}))
    assert raw_scores(world, LOW_RISK, item) == {"n": expected, "unknown": 0}


@pytest.mark.parametrize(
    ("other", "own", "expected"),
    [
        # (request, limit) of the other pod and of the pod, of 10 cores; the load is 0.
        ((0, 0), (2, 0), 100),  # A missing limit is the request: 2 of 10.
        ((4, 0), (6, 0), 100),  # All of it, and no more.
        ((4, 0), (8, 0), 50),  # Requests 12 count as 10: (12 - 10) / (12 - 10) = 1, half of it.
        ((0, 20), (0, 10), 67),  # (30 - 10) / (30 - 0) = 2/3
        ((10, 10), (0, 10), 50),
    ],
)
def test_low_risk_by_limits(tmp_path: Path, other: tuple[int, int], own: tuple[int, int], expected: int) -> None:
    world = loaded(tmp_path, LOW_RISK, {"n": cpu_and_memory(0, 0, 0, 0)}, [sized("n")])

    def containers(amounts: tuple[int, int]) -> list[Json]:
        return with_resources(*({"cpu": str(each)} if each else {} for each in amounts))

    world.add_pod(pod("other", "n", containers=containers(other)))
    assert raw_scores(world, LOW_RISK, pod("p", containers=containers(own))) == {"n": expected}


@pytest.mark.parametrize(
    ("other", "load", "expected"),
    [
        # (request, limit) of the other pod of 10 cores; a constant load. The pod requests 1 core and is limited to it.
        ((0, 0), 80, 100),  # Neither requests nor limits below the capacity: nothing above the limits is possible.
        ((0, 5), 80, 50),  # Constant: 80 % is above the requests, and the limits do not mend it.
        ((8, 20), 80, 54),  # 80 % is requested; risk by limits (21 - 10) / (21 - 9) = 11/12, half of it counts.
        ((12, 12), 80, 50),  # Requests above the capacity count as all of it.
    ],
)
def test_low_risk_by_load(tmp_path: Path, other: tuple[int, int], load: float, expected: int) -> None:
    world = loaded(tmp_path, LOW_RISK, {"n": cpu_and_memory(load, 0, 0, 0)}, [sized("n")])
    requests, limits = ({"cpu": str(each)} if each else {} for each in other)
    world.add_pod(pod("other", "n", containers=with_resources(requests, limits)))
    item = pod("p", containers=with_resources({"cpu": "1"}, {"cpu": "1"}))
    assert raw_scores(world, LOW_RISK, item) == {"n": expected}


def test_low_risk_of_a_node_without_cpu(tmp_path: Path) -> None:
    """All that is requested is too much; there is nothing that a load could be a part of."""
    world = loaded(tmp_path, LOW_RISK, {"n": cpu_and_memory(80, 0, 0, 0)}, [sized("n", cpu="0")])
    assert raw_scores(world, LOW_RISK, pod("p", containers=with_resources({"cpu": "1"}))) == {"n": 50}


def test_low_risk_gives_pods_of_best_effort_nothing(tmp_path: Path) -> None:
    world = loaded(tmp_path, LOW_RISK, {"n": cpu_and_memory(0, 0, 0, 0)}, [sized("n")])
    assert raw_scores(world, LOW_RISK, pod("p", containers=with_resources({}))) == {"n": 0}


@pytest.mark.parametrize(
    ("alpha", "beta", "x", "expected"),
    [(1, 1, 0.3, 0.3), (2, 3, 0.5, 0.6875), (0.5, 0.5, 0.25, 1 / 3), (5, 1, 0.9, 0.59049), (2, 2, 0, 0), (2, 2, 1, 1)],
)
def test_probabilities(alpha: float, beta: float, x: float, expected: float) -> None:
    assert BetaDistribution(alpha, beta).probability(x) == pytest.approx(expected, abs=1e-12)


def test_moments() -> None:
    assert beta_distribution(0.5, sqrt(1 / 12)) == pytest.approx((1, 1))
    assert beta_distribution(0.5, 0.5) is None
    assert beta_distribution(1, 0.1) is None
    assert beta_distribution(0.3, 0) is None


# Plain references, written anew from the formulas.


def half_up(value: float) -> int:
    return int(value + 0.5)


def reference_packing(capacity: int, used_percent: float, pod_use: int) -> int:
    use = 100 * (used_percent / 100 * capacity + pod_use) / capacity
    if use <= 40:
        return half_up(60 * use / 40 + 40)
    return half_up(40 * (100 - use) / 60) if use <= 100 else 0


def reference_balancing(loads: tuple[float, ...], capacities: tuple[int, int], requests: tuple[int, int]) -> int:
    both = []
    for index in range(2):
        average, deviation = loads[2 * index : 2 * index + 2]
        mean = min((average * capacities[index] / 100 + requests[index]) / capacities[index], 1.0)
        both.append((1 - (mean + min(deviation / 100, 1.0)) / 2) * 100)
    return half_up(min(both))


def probability(alpha: float, beta: float, x: float) -> float:
    """The incomplete beta function by its power series, in 60 digits."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > 0.5:
        return 1 - probability(beta, alpha, 1 - x)
    with localcontext() as context:
        context.prec = 60
        total, factor, n = Decimal(0), Decimal(1), 0
        while n < 5 or abs(factor) > Decimal(10) ** -25:
            total += factor / (Decimal(alpha) + n)
            factor *= (1 - Decimal(beta) + n) * Decimal(x) / (n + 1)
            n += 1
        scale = (Decimal(alpha) * Decimal(x).ln() + Decimal(lgamma(alpha + beta) - lgamma(alpha) - lgamma(beta))).exp()
        return float(total * scale)


def reference_low_risk(
    loads: tuple[float, ...],
    capacities: tuple[int, int],
    others: list[tuple[int, int, int, int]],
    own: tuple[int, int, int, int],
) -> int:
    risks = []
    for index, capacity in enumerate(capacities):
        mean, deviation = loads[2 * index] / 100, loads[2 * index + 1] / 100 * sqrt(5)
        deviation = min(deviation, sqrt(0.99 * mean * (1 - mean)))
        request = sum(each[2 * index] for each in others)
        limit = sum(max(each[2 * index], each[2 * index + 1]) for each in others)
        total = mean * (1 - mean) / deviation**2 - 1
        below = probability(mean * total, (1 - mean) * total, min(request / capacity, 1))
        if limit < capacity:
            below = 1 if limit == 0 else min(1, below / probability(mean * total, (1 - mean) * total, limit / capacity))
        all_requests = min(request + own[2 * index], capacity)
        all_limits = limit + max(own[2 * index], own[2 * index + 1])
        by_limits = (all_limits - capacity) / (all_limits - all_requests) if all_limits > capacity else 0
        risks.append(0.5 * by_limits + 0.5 * (1 - below))
    return half_up(100 * (1 - max(risks)))


@pytest.mark.parametrize("plugin", [PACKING, BALANCING, LOW_RISK])
def test_random_nodes_equal_a_plain_reference(tmp_path: Path, plugin: str) -> None:
    random = Random(11)
    capacities = {f"n{i}": (random.randint(2, 64) * 1000, random.randint(4, 256) * GIB) for i in range(1000)}
    loads = {name: tuple(random.uniform(1, 99) for _ in range(4)) for name in capacities}
    nodes = [sized(name, f"{cpu}m", str(memory)) for name, (cpu, memory) in capacities.items()]
    world = loaded(tmp_path, plugin, {name: cpu_and_memory(*load) for name, load in loads.items()}, nodes, end=1 << 40)
    others: dict[str, list[tuple[int, int, int, int]]] = {name: [] for name in capacities}
    for name in capacities if plugin == LOW_RISK else ():
        for number in range(random.randint(0, 3)):
            amounts = (random.randint(0, 4000), random.randint(0, 8000), random.randint(0, 8) * GIB, 4 * GIB)
            others[name].append(amounts)
            requests = {"cpu": f"{amounts[0]}m", "memory": str(amounts[2])}
            limits = {"cpu": f"{amounts[1]}m", "memory": str(amounts[3])}
            world.add_pod(pod(f"{name}-{number}", name, containers=with_resources(requests, limits)))
    own = {"cpu": "1500m", "memory": "2Gi"}
    found = raw_scores(world, plugin, pod("p", containers=with_resources(own, {"cpu": "3", "memory": "2Gi"})))
    for name, score in found.items():
        if plugin == PACKING:
            expected = reference_packing(capacities[name][0], loads[name][0], 3000)
        elif plugin == BALANCING:
            expected = reference_balancing(loads[name], capacities[name], (1500, 2 * GIB))
        else:
            expected = reference_low_risk(loads[name], capacities[name], others[name], (1500, 3000, 2 * GIB, 2 * GIB))
        assert score == expected, name
    assert len(set(found.values())) > 20
