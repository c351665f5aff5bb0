"""Scores of a node by its NUMA zones.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/score.go, least_numa.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import variance
from typing import NamedTuple

from stowplan.optional_plugins.base.requests import Amounts
from stowplan.optional_plugins.node_resource_topology_match.alignment import ContainerNeeds
from stowplan.optional_plugins.node_resource_topology_match.topology import POD_SCOPE, NodeTopology, NumaZone

MAX_SCORE = 100
UNKNOWN_DISTANCE = 255
MAX_COMBINATIONS = 10_000
"""Combinations of zones that LeastNUMANodes looks at; nodes with more of them get 0."""

Formula = Callable[[Mapping[str, int], Mapping[str, int], Mapping[str, int]], int]
"""(request, available amounts of a zone, weights) -> score of the zone."""


def least_allocated(request: Mapping[str, int], available: Mapping[str, int], weights: Mapping[str, int]) -> int:
    return _weighted(request, available, weights, lambda wanted, there: (there - wanted) * MAX_SCORE // there)


def most_allocated(request: Mapping[str, int], available: Mapping[str, int], weights: Mapping[str, int]) -> int:
    return _weighted(request, available, weights, lambda wanted, there: wanted * MAX_SCORE // there)


def balanced_allocation(request: Mapping[str, int], available: Mapping[str, int], weights: Mapping[str, int]) -> int:
    pairs = _whole_units(request, available)
    fractions = [1.0 if there == 0 else wanted / there for wanted, there in pairs.values()]
    if any(fraction > 1 for fraction in fractions):
        return 0
    return int((1 - (variance(fractions) if len(fractions) > 1 else 0)) * MAX_SCORE)


def _weighted(
    request: Mapping[str, int],
    available: Mapping[str, int],
    weights: Mapping[str, int],
    formula: Callable[[int, int], int],
) -> int:
    total = weight_sum = 0
    for name, (wanted, there) in _whole_units(request, available).items():
        weight = weights.get(name, 1)
        total += weight * (formula(wanted, there) if 0 < there >= wanted else 0)
        weight_sum += weight
    return total // weight_sum if weight_sum else 0


def _whole_units(request: Mapping[str, int], available: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """(requested, available) by resource. cpu is counted in cores, rounded up."""
    pairs = {name: (amount, available.get(name, 0)) for name, amount in request.items()}
    if "cpu" in pairs:
        wanted, there = pairs["cpu"]
        pairs["cpu"] = (-(-wanted // 1000), -(-there // 1000))
    return pairs


def zone_score(needs: ContainerNeeds, topology: NodeTopology, formula: Formula, weights: Mapping[str, int]) -> int:
    """The lowest score of a zone that is not 0; of containers, the mean."""

    def worst(request: Mapping[str, int]) -> int:
        scores = [formula(request, zone.available, weights) for zone in topology.zones]
        return min((score for score in scores if score), default=0)

    if topology.scope == POD_SCOPE:
        return worst(needs.total)
    requests = [*(request for _, request in needs.init_containers), *needs.containers]
    return sum(map(worst, requests)) // len(requests) if requests else 0


class ZoneChoice(NamedTuple):
    """The zones that hold a request."""

    zones: tuple[int, ...]
    """Positions in the list of zones."""
    is_nearest: bool
    """Whether no combination of as many zones has a smaller average distance."""


def least_numa_score(needs: ContainerNeeds, topology: NodeTopology) -> int:
    """100 less a share for each zone that the pod or its largest container spans."""
    available = [dict(zone.available) for zone in topology.zones]
    requests = [*(request for _, request in needs.init_containers), *needs.containers]
    span, is_nearest = 0, True
    for request in [needs.total] if topology.scope == POD_SCOPE else requests:
        listed = {name: amount for name, amount in request.items() if amount and name in topology.resources}
        if not listed:
            continue
        choice = _choose(listed, topology.zones, available)
        if choice is None:
            return 0
        span, is_nearest = max(span, len(choice.zones)), is_nearest and choice.is_nearest
        _spread(listed, [available[position] for position in choice.zones])
    if not span:
        return MAX_SCORE
    share = MAX_SCORE // topology.max_numa_nodes
    return max(MAX_SCORE - span * share + (share // 2 if is_nearest else 0), 0)


def _choose(request: Amounts, zones: Sequence[NumaZone], available: Sequence[Amounts]) -> ZoneChoice | None:
    """The fewest zones that hold the request: the first at the smallest distance, else the nearest that fit."""
    left = MAX_COMBINATIONS
    for size in range(1, len(zones) + 1):
        candidates = []
        for positions in combinations(range(len(zones)), size):
            left -= 1
            if left < 0:
                return None
            distance = _distance([zones[position] for position in positions])
            candidates.append((distance, positions))
        fitting = [each for each in candidates if _holds(request, [available[position] for position in each[1]])]
        if fitting:
            distance, positions = min(fitting, key=lambda each: each[0])
            return ZoneChoice(positions, distance == min(each for each, _ in candidates))
    return None


def _holds(request: Amounts, zones: Sequence[Amounts]) -> bool:
    return all(
        all(name in zone for zone in zones) and sum(zone[name] for zone in zones) >= amount
        for name, amount in request.items()
    )


def _distance(zones: Sequence[NumaZone]) -> float:
    distances = [one.costs.get(other.id, UNKNOWN_DISTANCE) for one in zones for other in zones]
    return sum(distances) / len(distances)


def _spread(request: Amounts, zones: Iterable[Amounts]) -> None:
    """Take a request from zones, in their order."""
    for name, amount in request.items():
        rest = amount
        for zone in zones:
            taken = min(zone[name], rest)
            zone[name] -= taken
            rest -= taken
