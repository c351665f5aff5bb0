"""Waits of queues with identical pods and one resource: a node with ten places, against theory.

With equal durations the order of service does not matter, so the mean wait of a run equals that of the recursion of
Kiefer and Wolfowitz on the same arrivals; with exponential durations it does if pods are served in the order of their
arrival. The recursion on many draws gives Erlang's formula, so runs do.

The queue of kube-scheduler serves pods in another order, which changes the wait of a run but not its expected value.
`python -m tests.unit.study.test_queueing_theory ARRIVALS SEEDS` compares such runs with the formula. The recursion on
the arrivals and durations of a run is the control variate: formula x mean wait of runs / mean wait of recursions.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import load, pod, pool
from tests.unit.study.test_run import fast_backoff

from stowplan import framework as fwk
from stowplan.config import from_builtins
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


class FirstComeFirstServed(fwk.Plugin):
    """Orders the queue by the first attempt."""

    def less(self, a: fwk.QueuedPodInfo, b: fwk.QueuedPodInfo) -> bool:
        assert a.initial_attempt_timestamp is not None
        assert b.initial_attempt_timestamp is not None
        return a.initial_attempt_timestamp < b.initial_attempt_timestamp


def in_order_of_arrival() -> RunSettings:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    plugins = {"queueSort": {"enabled": [{"name": "FCFS"}], "disabled": [{"name": "*"}]}}
    backoff = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
    config = from_builtins({**head, **backoff, "profiles": [{"plugins": plugins}]}, known_plugins={"FCFS"})
    return RunSettings(config, {"FCFS": FirstComeFirstServed})


def simulated(
    utilisation: float, duration: Any, arrivals: int, seed: int, settings: RunSettings | None = None
) -> RunResult:
    rate = SERVERS * utilisation / SERVICE_SECONDS * 3600
    given = {
        "name": "m",
        "template": pod("1"),
        "arrivals": {"poisson": {"rate": f"{rate:.12f}/h"}, "limit": arrivals},
        "duration": duration,
    }
    nodes = {"pools": [pool(cpu=str(SERVERS))]}
    scenario = load(given, nodes=nodes, until={"drained": True}, record={"every": "30d", "events": False})
    return run(scenario, seed, settings or RunSettings(fast_backoff()))


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
def test_waits_with_exponential_durations_in_order_of_arrival(utilisation: float) -> None:
    """Backoff of a second, with durations of two hours, is all that differs."""
    result = simulated(utilisation, {"exponential": {"mean": SERVICE_SECONDS}}, 1000, 3, in_order_of_arrival())
    assert result.summary["wait.mean"] == pytest.approx(expected(result), rel=0.01)


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


def main(arrivals: int, seeds: int, loads: Sequence[float]) -> None:
    for utilisation in loads:
        pairs = []
        for seed in range(seeds):
            result = simulated(utilisation, {"exponential": {"mean": SERVICE_SECONDS}}, arrivals, seed)
            pairs.append((result.summary["wait.mean"], expected(result)))
        formula = erlang_c(SERVERS, SERVERS * utilisation)
        runs, recursions = (fmean(values) for values in zip(*pairs, strict=True))
        error = stdev(found - control for found, control in pairs) / math.sqrt(seeds) / recursions
        print(  # noqa: T201
            f"load {utilisation}: formula {formula:.1f} s, runs {runs:.1f} s, recursions {recursions:.1f} s, "
            f"runs against the formula {runs / recursions - 1:+.2%}, standard error {error:.2%}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [float(load) for load in sys.argv[3:]] or LOADS)
