"""Metrics of a run against its capacity: allocation by arrived load, and finish-time fairness of tenants.

Both take the mean capacity over the run. The load at a moment is the sum of the requests of all pods that have arrived.
A job alone on a tenant's part of the cluster runs as many of its pods at once as fit by CPU, memory and GPU, one at
least.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from stowplan.study.grouped_rows import Floats
from stowplan.study.jobs import JobBook
from stowplan.study.pod_requests import GPU_RESOURCES, REQUEST_COLUMNS, WHOLE_GPUS
from stowplan.study.table import ResultTable

LOADS = (60, 90, 100, 130)
"""Arrived load in percent."""
_RESOURCES = tuple(zip(("cpu", "memory", "gpu"), REQUEST_COLUMNS, (("cpu",), ("memory",), GPU_RESOURCES), strict=True))
"""Name, column of the pods' requests, and resources of nodes."""


class _ArrivedLoad:
    """Finds the moments at which the pods that have arrived request given amounts in total.

    Rows are in the order of the pods' ends. Of those seen so far only the earliest are kept, up to the largest amount:
    about as many as the cluster can run.
    """

    def __init__(self, largest: float) -> None:
        self._largest = largest
        self._times: Floats = np.empty(0)
        self._totals: Floats = np.empty(0)
        """Amounts that have arrived up to each time."""

    def add(self, times: Floats, amounts: Floats) -> None:
        """Add pods with the times of their arrivals."""
        counted = amounts > 0
        if len(self._totals) and self._totals[-1] >= self._largest:
            counted &= times < self._times[-1]
        if not counted.any():
            return
        times = np.concatenate([self._times, times[counted]])
        amounts = np.concatenate([np.diff(self._totals, prepend=0.0), amounts[counted]])
        order = np.argsort(times, kind="stable")
        totals = amounts[order].cumsum()
        kept = int(np.searchsorted(totals, self._largest)) + 1
        self._times, self._totals = times[order[:kept]], totals[:kept]

    def moment(self, amount: float) -> float | None:
        """When so much has arrived; None if that never happens."""
        index = int(np.searchsorted(self._totals, amount))
        return float(self._times[index]) if index < len(self._times) else None


def allocations(pods: ResultTable, areas: Mapping[str, float], span: float) -> Iterator[tuple[str, float]]:
    """`allocation.<resource>@<load>` and its value: the allocated share of the capacity when pods with requests for so
    many percent of it have arrived. A load that is not reached has none."""
    if span <= 0:
        return
    for resource, column, names in _RESOURCES:
        capacity = _capacity(areas, names) / span
        if capacity <= 0:
            continue
        arrived = _ArrivedLoad(capacity * LOADS[-1] / 100)
        for submitted, amounts in pods.arrays(("submitted", column)):
            arrived.add(submitted, amounts)
        moments = {load: arrived.moment(capacity * load / 100) for load in LOADS}
        reached = {load: moment for load, moment in moments.items() if moment is not None}
        for load, held in _held(pods, column, reached).items():
            yield f"allocation.{resource}@{load}", held / capacity


def _held(pods: ResultTable, column: str, moments: Mapping[int, float]) -> dict[int, float]:
    """The requests of the pods that are bound at each of the moments. Amounts are whole numbers: sums are exact."""
    held = dict.fromkeys(moments, 0.0)
    for bound, ended, amounts in pods.arrays(("bound", "ended", column)) if moments else ():
        for load, moment in moments.items():
            held[load] += float(amounts[(bound <= moment) & ~(ended <= moment)].sum())
    return held


def finish_times(jobs: JobBook, areas: Mapping[str, float], span: float) -> Floats:
    """For each job that succeeded: jct / jct alone on 1/n of the cluster, for n tenants. Empty with one tenant."""
    tenants = {tenant for (column,) in jobs.table.blocks(("tenant",)) for tenant in column} - {""}
    if len(tenants) < 2 or span <= 0:
        return np.zeros(0)
    columns = jobs.table.arrays(("pods", "work_s", "jct_s"))
    requests = jobs.requests.arrays(REQUEST_COLUMNS)
    found = []
    for (pods, work, jct), amounts in zip(columns, requests, strict=True):
        alone = work * np.ceil(pods / _fitting_pods(amounts, areas, span * len(tenants)))
        done = np.isfinite(jct) & (work > 0)
        found.append(jct[done] / np.where(alone > 0, alone, work)[done])
    return np.concatenate(found)


def _fitting_pods(requests: list[Floats], areas: Mapping[str, float], span: float) -> Floats:
    """How many pods with these requests fit at once, one at least; infinitely many without requests."""
    fitting = np.full(len(requests[0]), np.inf)
    for (_, _, names), amounts in zip(_RESOURCES, requests, strict=True):
        capacity = _capacity(areas, names) / span
        fits = np.full(len(amounts), np.inf)
        np.divide(capacity, amounts, out=fits, where=amounts > 0)
        np.minimum(fitting, np.floor(fits), out=fitting)
    np.maximum(fitting, 1.0, out=fitting)
    return fitting


def _capacity(areas: Mapping[str, float], names: tuple[str, ...]) -> float:
    """Amount x time of all nodes; GPUs in thousandths."""
    return sum(areas.get(f"allocatable.{name}", 0.0) * (1000 if name in WHOLE_GPUS else 1) for name in names)
