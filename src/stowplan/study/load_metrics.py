"""Metrics of a run against its capacity: allocation by arrived load, and finish-time fairness of tenants.

Both take the mean capacity over the run. The load at a moment is the sum of the requests of all pods that have arrived.
A job alone on a tenant's part of the cluster runs as many of its pods at once as fit by CPU, memory and GPU, one at
least.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan.study.recording import GPU_RESOURCES, WHOLE_GPUS, RunRecording
from stowplan.study.table import ResultTable

LOADS = (60, 90, 100, 130)
"""Arrived load in percent."""
_RESOURCES = (
    ("cpu", "request_cpu_m", ("cpu",)),
    ("memory", "request_memory", ("memory",)),
    ("gpu", "request_gpu_m", GPU_RESOURCES),
)
"""Name, column of the pods' requests, and resources of nodes."""


def allocations(pods: ResultTable, areas: Mapping[str, float], span: float) -> Iterator[tuple[str, float]]:
    """`allocation.<resource>@<load>` and its value: the allocated share of the capacity when pods with requests for so
    many percent of it have arrived. A load that is not reached has none."""
    if span <= 0 or not len(pods):
        return
    submitted, bound, ended = pods["submitted"], pods["bound"], pods["ended"]
    order = np.argsort(submitted, kind="stable")
    for resource, column, names in _RESOURCES:
        capacity, amounts = _capacity(areas, names) / span, pods[column]
        if capacity <= 0:
            continue
        arrived = amounts[order].cumsum()
        for load in LOADS:
            index = int(np.searchsorted(arrived, capacity * load / 100))
            if index < len(arrived):
                moment = submitted[order[index]]
                held = (bound <= moment) & ~(ended <= moment)
                yield f"allocation.{resource}@{load}", float(amounts[held].sum()) / capacity


def finish_times(recording: RunRecording, areas: Mapping[str, float], span: float) -> NDArray[np.float64]:
    """For each job that succeeded: jct / jct alone on 1/n of the cluster, for n tenants. Empty with one tenant."""
    jobs = recording.jobs.table
    tenants = set(jobs["tenant"].tolist()) - {""}
    if len(tenants) < 2 or span <= 0:
        return np.zeros(0)
    fitting = _fitting_pods(recording.pods, areas, span * len(tenants))
    ratios = []
    columns = (jobs[name].tolist() for name in ("job", "pods", "work_s", "jct_s"))
    for job, count, work, jct in zip(*columns, strict=True):
        if math.isfinite(jct) and work > 0:
            ratios.append(jct / (work * math.ceil(count / fitting.get(job, count))))
    return np.array(ratios)


def _fitting_pods(pods: ResultTable, areas: Mapping[str, float], span: float) -> dict[str, float]:
    """By job: how many of its pods fit at once, one at least; jobs without requests are left out."""
    fitting = np.full(len(pods), np.inf)
    for _, column, names in _RESOURCES:
        capacity, amounts = _capacity(areas, names) / span, pods[column]
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(amounts > 0, np.floor(capacity / amounts), np.inf)
        fitting = np.minimum(fitting, fits)
    return {
        job: max(count, 1.0)
        for job, count in zip(pods["job"].tolist(), fitting.tolist(), strict=True)
        if count < np.inf
    }


def _capacity(areas: Mapping[str, float], names: tuple[str, ...]) -> float:
    """Amount x time of all nodes; GPUs in thousandths."""
    return sum(areas.get(f"allocatable.{name}", 0.0) * (1000 if name in WHOLE_GPUS else 1) for name in names)
