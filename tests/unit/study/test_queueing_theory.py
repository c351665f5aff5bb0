"""Waits of queues with identical pods and one resource: a node with ten places, against theory.

With equal durations the order of service does not matter, so the mean wait of a run equals that of the recursion of
Kiefer and Wolfowitz on the same arrivals. With exponential durations it does within a run, but not in the mean, which
is Erlang's formula. `python -m tests.unit.study.test_queueing_theory` compares long runs with the formula directly.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import load, pod, pool
from tests.unit.study.test_run import fast_backoff

from stowplan.simulator.streams import RandomStream
from stowplan.study import RunResult, RunSettings, run

SERVERS = 10
SERVICE_SECONDS = 7200.0
LOADS = (0.5, 0.7, 0.9)


def erlang_c(servers: int, offered: float) -> float:
    """The mean wait; `offered` is the arrival rate times the mean service time."""
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    waits = last / (sum(offered**number / math.factorial(number) for number in range(servers)) + last)
    return waits * SERVICE_SECONDS / (servers - offered)


def recursion(arrivals: Iterable[float], services: Iterable[float]) -> float:
    """The mean wait if pods are served in the order of their arrival."""
    free = [0.0] * SERVERS
    total, count = 0.0, 0
    for arrival, service in zip(arrivals, services, strict=True):
        begin = max(arrival, heapq.heappop(free))
        heapq.heappush(free, begin + service)
        total += begin - arrival
        count += 1
    return total / count


def simulated(utilisation: float, duration: Any, arrivals: int, seed: int) -> RunResult:
    rate = SERVERS * utilisation / SERVICE_SECONDS * 3600
    given = {
        "name": "m",
        "template": pod("1"),
        "arrivals": {"poisson": {"rate": f"{rate:.12f}/h"}, "limit": arrivals},
        "duration": duration,
    }
    nodes = {"pools": [pool(cpu=str(SERVERS))]}
    scenario = load(given, nodes=nodes, until={"drained": True}, record={"every": "30d", "events": False})
    return run(scenario, seed, RunSettings(fast_backoff()))


def expected(result: RunResult) -> float:
    """The mean wait of the recursion on the arrivals and durations of a run."""
    pods = sorted(zip(result.pods["submitted"].tolist(), result.pods["work_s"].tolist(), strict=True))
    return recursion([arrival for arrival, _ in pods], [service for _, service in pods])


@pytest.mark.parametrize("utilisation", LOADS)
def test_waits_with_equal_durations_are_exact(utilisation: float) -> None:
    result = simulated(utilisation, SERVICE_SECONDS, 1000, seed=1)
    assert result.summary["wait.mean"] == pytest.approx(expected(result), rel=1e-6)


@pytest.mark.parametrize("utilisation", LOADS)
def test_waits_with_exponential_durations(utilisation: float) -> None:
    result = simulated(utilisation, {"exponential": {"mean": SERVICE_SECONDS}}, 1500, seed=2)
    assert result.summary["wait.mean"] == pytest.approx(expected(result), rel=0.15)


@pytest.mark.parametrize("utilisation", LOADS)
def test_draws_of_scenarios_give_the_waits_of_erlangs_formula(utilisation: float) -> None:
    """The recursion on 400,000 draws of the streams that scenarios use."""
    arrivals, services = RandomStream(1, "a", "arrivals"), RandomStream(1, "a", "duration")
    gap = SERVICE_SECONDS / (SERVERS * utilisation)
    count = 400_000

    def times() -> Iterable[float]:
        time = 0.0
        for _ in range(count):
            time -= gap * math.log1p(-arrivals.uniform())
            yield time

    found = recursion(times(), (-SERVICE_SECONDS * math.log1p(-services.uniform()) for _ in range(count)))
    assert found == pytest.approx(erlang_c(SERVERS, SERVERS * utilisation), rel=0.03)


def main(arrivals: int, seeds: int) -> None:
    for utilisation in LOADS:
        found = [
            simulated(utilisation, {"exponential": {"mean": SERVICE_SECONDS}}, arrivals, seed).summary["wait.mean"]
            for seed in range(seeds)
        ]
        formula = erlang_c(SERVERS, SERVERS * utilisation)
        mean = sum(found) / seeds
        print(f"load {utilisation}: {mean:.1f} s, formula {formula:.1f} s, {mean / formula - 1:+.2%}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
