"""How much memory the process takes."""

import gc
import os
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import NamedTuple

from stowplan.bench.nodes import node_name
from stowplan.bench.pods import RUNNING, pods
from stowplan.bench.scenario import Scenario
from stowplan.bench.scenario_cluster import build_stage

_STATM = Path("/proc/self/statm")
_MIB = 1024 * 1024


class Load(NamedTuple):
    """What taking pods in cost: nanoseconds by pod, CPU nanoseconds in all, and the memory at the end."""

    latencies: list[int]
    cpu: int
    rss_mib: float


def rss_mib() -> float:
    """Resident memory of this process now; its peak, where the system does not tell."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / _MIB if sys.platform == "darwin" else peak / 1024


def load(scenario: Scenario, count: int, pod_count: int, seed: int) -> Load:
    """Fill a cluster with nodes and running pods."""
    stage = build_stage(scenario, count, seed)
    latencies = []
    cpu = 0
    for source in pods(scenario.incoming, pod_count, RUNNING, lambda number: node_name(number % count)):
        start, begin = process_time_ns(), perf_counter_ns()
        stage.cluster.add_pod(stage.cluster.pod(source))
        latencies.append(perf_counter_ns() - begin)
        cpu += process_time_ns() - start
    gc.collect()
    return Load(latencies, cpu, rss_mib())


def load_apart(scenario: Scenario, count: int, pod_count: int, seed: int) -> Load:
    """The same in a new process, where nothing else has taken memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(load, scenario, count, pod_count, seed).result()
