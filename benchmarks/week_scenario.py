"""Writes a scenario of pods that arrive and end over weeks, with a given load of the cluster.

    python benchmarks/week_scenario.py > week.json
    stowplan simulate -f week.json
    python benchmarks/week_scenario.py --weeks 10 > ten-weeks.json

With `--weeks 10` ten times as many pods arrive in ten times the time, and as many as before exist at once.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

Json = dict[str, Any]

WEEK_SECONDS = 7 * 86400
NODE_CORES, NODE_GIB = 16, 64
SIZES = ((1, 2), (1, 6), (2, 8), (4, 8), (2, 4))
"""Cores and GiB of memory of a pod, by workload; an equal share of the pods is of each."""


def template(number: int, job_pods: int) -> Json:
    """A Pod, or a Job with so many of them."""
    cores, gib = SIZES[number]
    requests = {"cpu": str(cores), "memory": f"{gib}Gi"}
    spec = {"containers": [{"name": "main", "image": f"app-{number}", "resources": {"requests": requests}}]}
    if not job_pods:
        return {"apiVersion": "v1", "kind": "Pod", "spec": spec}
    job = {"parallelism": job_pods, "completions": job_pods, "template": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"app-{number}"}, "spec": job}


def workload(number: int, pods: int, seconds: float, tenants: int, job_pods: int) -> Json:
    """A workload of pods with a mean duration."""
    rate = pods / len(SIZES) / WEEK_SECONDS / max(job_pods, 1)
    made: Json = {
        "name": f"app-{number}",
        "template": template(number, job_pods),
        "arrivals": {"poisson": {"rate": f"{rate * 3600}/h"}},
        "duration": {"exponential": {"mean": seconds}},
    }
    if tenants:
        made["tenant"] = {"choice": {f"tenant-{each}": 1 for each in range(tenants)}}
    return made


def scenario(nodes: int, pods: int, weeks: float, load: float, tenants: int, job_pods: int) -> Json:
    """`pods` is the number of pods in a week, and `load` the share of the cores that they request on average."""
    cores = sum(each for each, _ in SIZES) / len(SIZES)
    seconds = round(load * nodes * NODE_CORES / cores / (pods / WEEK_SECONDS))
    allocatable = {"cpu": str(NODE_CORES), "memory": f"{NODE_GIB}Gi", "pods": "110"}
    zones = {"north-a": 1, "north-b": 1, "north-c": 1}
    pool = {"name": "general", "count": nodes, "zones": zones, "template": {"status": {"allocatable": allocatable}}}
    return {
        "apiVersion": "simulation.stowplan/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "week"},
        "seed": 1,
        "until": {"time": weeks * WEEK_SECONDS},
        "nodes": {"pools": [pool]},
        "workloads": [workload(number, pods, seconds, tenants, job_pods) for number in range(len(SIZES))],
    }


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=100_000, help="in a week")
    parser.add_argument("--weeks", type=float, default=1.0)
    parser.add_argument("--load", type=float, default=0.7, help="share of the cores that pods request on average")
    parser.add_argument("--tenants", type=int, default=0)
    parser.add_argument("--job-pods", type=int, default=0, help="Jobs of so many pods in place of pods")
    options = parser.parse_args()
    json.dump(scenario(**vars(options)), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
