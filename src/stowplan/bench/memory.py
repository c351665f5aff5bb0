"""Memory of a process with a loaded cluster."""

import gc
import os
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import NamedTuple

from stowplan.bench.object_series import FIRST_RUNNING_POD_NUMBER, node_name, pods
from stowplan.bench.scenario import Scenario
from stowplan.bench.scenario_cluster import build_scenario_cluster

_STATM = Path("/proc/self/statm")
_MIB = 1024 * 1024


class Load(NamedTuple):
    """Cost of adding pods: nanoseconds per pod, total CPU nanoseconds, and resident memory at the end."""

    latencies: list[int]
    cpu: int
    rss_mib: float


def rss_mib() -> float:
    """Resident memory of this process now; its peak where /proc is missing."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / _MIB if sys.platform == "darwin" else peak / 1024


def load(scenario: Scenario, count: int, pod_count: int, seed: int) -> Load:
    """Fill a cluster with nodes and running pods."""
    scenario_cluster = build_scenario_cluster(scenario, count, seed)
    latencies = []
    cpu = 0
    for source in pods(
        scenario.incoming, pod_count, FIRST_RUNNING_POD_NUMBER, lambda number: node_name(number % count)
    ):
        start, begin = process_time_ns(), perf_counter_ns()
        scenario_cluster.cluster.add_pod(scenario_cluster.cluster.pod(source))
        latencies.append(perf_counter_ns() - begin)
        cpu += process_time_ns() - start
    gc.collect()
    return Load(latencies, cpu, rss_mib())


def load_apart(scenario: Scenario, count: int, pod_count: int, seed: int) -> Load:
    """`load` in a new process, so that other scenarios do not count."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(load, scenario, count, pod_count, seed).result()
