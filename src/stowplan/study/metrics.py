"""Metrics of a run. Means over time are exact integrals; percentiles are nearest rank.

| metric | definition |
|---|---|
| jct | end - submission of a job that succeeded; jobs without an end are counted by `unfinished` |
| wait | first binding - submission of a pod; `wait.censored` includes pods that are pending at the end |
| startup | running - bound of a pod |
| slowdown, bsld | jct / work, and with at least 10 s of work |
| makespan | last end - first submission |
| throughput | jobs that succeeded per hour |
| goodput.<resource> | requested amount x work of pods that succeeded / capacity x time |
| utilisation.<resource> | requested amount x time / allocatable amount of Ready nodes x time |
| imbalance.<resource> | mean over samples of the standard deviation over nodes of requested / allocatable |
| fragmentation.fgd.<resource> | mean over samples: share of the free amount that a pod of the run cannot use |
| fragmentation.stranded.<resource> | the same on nodes with less of another resource than the smallest request |
| fragmentation.largest.<resource> | mean over samples of 1 - largest free amount on a node / free amount |
| pending, running, nodes, nodes.used, nodes.empty | mean over time; `.max` the largest value |
| cost | price of all nodes over their time |
| preemptions, evictions, lost.<resource> | interrupted pods, and amount x work that was thrown away |
| attempts | mean scheduling attempts of a pod |
| fairness.jain | Jain's index of the tenants' dominant shares over time |
| fairness.drf | mean over samples of the largest - the smallest dominant share of a tenant |
| fairness.ftf.max, .late | finish-time fairness, jct / jct alone on 1/n of the cluster; share of jobs above 1 |
| allocation.<resource>@<load> | allocated share when requests for 60, 90, 100, 130 % of the capacity have arrived |
| spread.skew | mean over samples of the largest skew of a workload over zones |
| slo.wait, slo.jct | share of pods or jobs within the bound in `record.slo`; unfinished ones are late |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.simulator.scenario.quantities import seconds_of
from stowplan.study.load_metrics import LOADS, allocations, finish_times
from stowplan.study.recording import INTERRUPTED, RunRecording
from stowplan.study.table import ResultTable

_PERCENTILES = (50, 90, 95, 99)
_SPREADS = ("jct", "wait", "wait.censored", "startup", "slowdown")
_SINGLE = (
    "jobs", "unfinished", "bsld.mean", "makespan", "throughput", "pods", "pods.succeeded", "pods.failed",
    "pods.running", "pods.pending", "preemptions", "evictions", "lost.cpu", "lost.memory", "lost.gpu", "attempts",
    "pending", "running", "nodes", "nodes.used", "nodes.empty", "cost", "pending.max", "running.max", "nodes.max",
    "fairness.jain", "fairness.drf", "fairness.ftf.max", "fairness.ftf.late", "spread.skew", "slo.wait", "slo.jct",
)  # fmt: skip
SAMPLED_RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
_BY_RESOURCE = {
    **dict.fromkeys(
        ("imbalance", "fragmentation.largest", "fragmentation.fgd", "fragmentation.stranded"), SAMPLED_RESOURCES
    ),
    "goodput": ("cpu", "memory"),
    "allocation": tuple(f"{resource}@{load}" for resource in ("cpu", "memory", "gpu") for load in LOADS),
}
UTILISATION = "utilisation."
"""Followed by a resource of the nodes."""
OVER_TIME = ("pending", "running", "nodes", "nodes.used", "nodes.empty", "cost", "utilisation")
"""Metrics that have a value over a window and at a moment."""
_MIN_BOUNDED_WORK_SECONDS = 10.0
GROUPS = ("workload", "tenant", "priority")
Floats = NDArray[np.float64]


class MetricValue(NamedTuple):
    """A value of the summary; `key` is empty, or `workload=batch` and the like."""

    metric: str
    key: str
    value: float
    unit: str


LOWER_IS_BETTER = ("jct", "wait", "startup", "slowdown", "bsld", "makespan", "imbalance", "fragmentation", "pending",
                   "cost", "spread", "preemptions", "evictions", "lost", "attempts", "unfinished", "nodes")  # fmt: skip
HIGHER_IS_BETTER = ("throughput", "goodput", "allocation", "utilisation", "fairness", "succeeded", "slo")


def known_metrics(resources: Iterable[str] = SAMPLED_RESOURCES) -> list[str]:
    """Names of all metrics, of utilisation with the given resources."""
    ends = ("mean", *(f"p{percent}" for percent in _PERCENTILES), "max")
    return [
        *_SINGLE,
        *(f"{name}.{end}" for name in _SPREADS for end in ends),
        *(f"{name}.{resource}" for name, named in _BY_RESOURCE.items() for resource in named),
        *(UTILISATION + resource for resource in resources),
    ]


def unit_of(metric: str) -> str:
    """`s` for times, empty for other units."""
    head = metric.partition(".")[0]
    return "s" if head in ("jct", "wait", "startup", "makespan") else ""


def better_sign(metric: str) -> int:
    """1 if a larger value is better, -1 if a smaller one is, 0 if neither is."""
    head = metric.partition(".")[0]
    if metric == "pods.pending":
        return -1
    if metric.startswith(("fairness.drf", "fairness.ftf")):
        return -1
    return 1 if head in HIGHER_IS_BETTER else -1 if head in LOWER_IS_BETTER else 0


def percentile(values: Floats, percent: float) -> float:
    """The nearest rank: the smallest value that at least so many percent of the values do not exceed."""
    if not len(values):
        return math.nan
    rank = max(1, math.ceil(percent / 100 * len(values)))
    return float(np.partition(values, rank - 1)[rank - 1])


def spread(metric: str, key: str, values: Floats, unit: str) -> Iterator[MetricValue]:
    """Mean, percentiles and the largest value."""
    if not len(values):
        return
    yield MetricValue(f"{metric}.mean", key, float(np.mean(values)), unit)
    for percent in _PERCENTILES:
        yield MetricValue(f"{metric}.p{percent}", key, percentile(values, percent), unit)
    yield MetricValue(f"{metric}.max", key, float(np.max(values)), unit)


class _Columns:
    """Columns of a table that several metrics read, with the rows after the warm-up."""

    def __init__(self, table: ResultTable, names: tuple[str, ...], begin: float) -> None:
        self._columns: dict[str, NDArray[Any]] = {name: table[name] for name in names}
        kept = self._columns["submitted"] >= begin
        if not kept.all():
            self._columns = {name: column[kept] for name, column in self._columns.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def where(self, conditions: Mapping[str, object]) -> NDArray[np.bool_]:
        """The rows that have these values."""
        mask = np.ones(len(self._columns["submitted"]), dtype=np.bool_)
        for name, value in conditions.items():
            mask &= self._columns[name] == value
        return mask

    def groups(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """All rows, then those of each workload, tenant and priority if there are several."""
        count = len(self._columns["submitted"])
        yield "", np.ones(count, dtype=np.bool_)
        for name in GROUPS:
            column = self._columns[name]
            values = sorted(set(column.tolist()))
            if len(values) > 1 or (values and name == "workload"):
                for value in values:
                    text = f"{value:g}" if isinstance(value, float) else value
                    if text != "":
                        yield f"{name}={text}", column == value


def summarise(recording: RunRecording, begin: float, end: float, areas: Mapping[str, float]) -> Iterator[MetricValue]:
    """All metrics from `begin` to `end`; `areas` are the integrals over that time."""
    yield from _job_metrics(recording, begin, end)
    yield from _pod_metrics(recording, begin, end)
    yield from _time_metrics(recording, areas, end - begin)
    yield from _goodput(recording, begin, areas)
    for name, value in allocations(recording.pods, areas, end - begin):
        yield MetricValue(name, "", value, "")
    ratios = finish_times(recording, areas, end - begin)
    if len(ratios):
        yield MetricValue("fairness.ftf.max", "", float(ratios.max()), "")
        yield MetricValue("fairness.ftf.late", "", float((ratios > 1).mean()), "")


def metrics_where(
    recording: RunRecording, begin: float, end: float, where: Mapping[str, object]
) -> Iterator[MetricValue]:
    """Metrics of the jobs and pods that fulfil conditions on workload, tenant and priority."""
    yield from _job_metrics(recording, begin, end, where)
    yield from _pod_metrics(recording, begin, end, where)


Where = Mapping[str, object] | None


def _job_metrics(recording: RunRecording, begin: float, end: float, where: Where = None) -> Iterator[MetricValue]:
    names = ("workload", "tenant", "priority", "submitted", "ended", "work_s", "jct_s", "outcome")
    jobs = _Columns(recording.jobs.table, names, begin)
    for key, chosen in jobs.groups() if where is None else [("", jobs.where(where))]:
        jct = jobs["jct_s"][chosen]
        done = ~np.isnan(jct)
        yield from _objective(recording, "jct", key, jct)
        work = jobs["work_s"][chosen][done]
        jct = jct[done]
        yield MetricValue("jobs", key, float(chosen.sum()), "")
        yield MetricValue("unfinished", key, float((jobs["outcome"][chosen] == "unfinished").sum()), "")
        yield from spread("jct", key, jct, "s")
        worked = work > 0
        yield from spread("slowdown", key, jct[worked] / work[worked], "")
        if worked.any():
            bounded = np.maximum(1.0, jct / np.maximum(work, _MIN_BOUNDED_WORK_SECONDS))
            yield MetricValue("bsld.mean", key, float(bounded.mean()), "")
        if done.any():
            ended = jobs["ended"][chosen][done]
            first = float(jobs["submitted"][chosen].min())
            yield MetricValue("makespan", key, float(ended.max()) - first, "s")
            yield MetricValue("throughput", key, float(done.sum()) / (end - begin) * 3600 if end > begin else 0.0, "/h")


def _pod_metrics(recording: RunRecording, begin: float, end: float, where: Where = None) -> Iterator[MetricValue]:
    names = ("workload", "tenant", "priority", "submitted", "bound", "running", "outcome", "attempts", "waited_s",
             "lost_s", "request_cpu_m", "request_memory", "request_gpu_m")  # fmt: skip
    pods = _Columns(recording.pods, names, begin)
    for key, chosen in pods.groups() if where is None else [("", pods.where(where))]:
        waited, outcome = pods["waited_s"][chosen], pods["outcome"][chosen]
        bound = ~np.isnan(waited)
        submitted = pods["submitted"][chosen]
        yield MetricValue("pods", key, float(len(waited)), "")
        yield from _objective(recording, "wait", key, waited)
        yield from spread("wait", key, waited[bound], "s")
        yield from spread("wait.censored", key, np.where(bound, waited, end - submitted), "s")
        started = (pods["running"] - pods["bound"])[chosen]
        started = started[~np.isnan(started)]
        if started.any():
            yield from spread("startup", key, started, "s")
        for state in ("succeeded", "failed", "running", "pending"):
            yield MetricValue(f"pods.{state}", key, float((outcome == state).sum()), "")
        yield MetricValue("preemptions", key, float((outcome == "preempted").sum()), "")
        yield MetricValue("evictions", key, float(np.isin(outcome, INTERRUPTED[1:]).sum()), "")
        lost = pods["lost_s"][chosen]
        for name, column, unit in _AMOUNTS:
            yield MetricValue(f"lost.{name}", key, float((lost * pods[column][chosen]).sum()) / unit / 3600, "h")
        if len(waited):
            yield MetricValue("attempts", key, float(pods["attempts"][chosen].mean()), "")


def _objective(
    recording: RunRecording, name: Literal["wait", "jct"], key: str, values: Floats
) -> Iterator[MetricValue]:
    bound = recording.scenario.spec.record.slo.get(name)
    if bound is not None and len(values):
        yield MetricValue(f"slo.{name}", key, float((values <= seconds_of(bound)).mean()), "")


_AMOUNTS = (("cpu", "request_cpu_m", 1000), ("memory", "request_memory", 2**30), ("gpu", "request_gpu_m", 1000))


def _goodput(recording: RunRecording, begin: float, areas: Mapping[str, float]) -> Iterator[MetricValue]:
    """The share of the capacity that went into work of pods that succeeded."""
    pods = _Columns(recording.pods, ("submitted", "outcome", "work_s", "request_cpu_m", "request_memory"), begin)
    done = (pods["outcome"] == "succeeded") & ~np.isnan(pods["work_s"])
    for resource, column in (("cpu", "request_cpu_m"), ("memory", "request_memory")):
        whole = areas.get(f"allocatable.{resource}", 0.0)
        if whole > 0:
            kept = float((pods["work_s"][done] * pods[column][done]).sum())
            yield MetricValue(f"goodput.{resource}", "", kept / whole, "")


def _time_metrics(recording: RunRecording, areas: Mapping[str, float], span: float) -> Iterator[MetricValue]:
    if span <= 0:
        return
    yield from window_metrics(areas, span)
    for name in ("pending", "running", "nodes"):
        yield MetricValue(f"{name}.max", "", recording.integrals.largest(name), "")
    shares = tenant_shares(areas)
    if shares:
        values = np.array(list(shares.values()))
        squares = float((values**2).sum())
        if squares:
            yield MetricValue("fairness.jain", "", float(values.sum()) ** 2 / (len(values) * squares), "")


def window_metrics(areas: Mapping[str, float], span: float) -> Iterator[MetricValue]:
    """Metrics that are means over a window of time."""
    for name in sorted(areas):
        head, _, resource = name.partition(".")
        if head == "allocatable" and resource != "pods" and areas[name] > 0:
            requested = areas.get(f"requested.{resource}", 0.0)
            yield MetricValue(f"utilisation.{resource}", "", requested / areas[name], "")
    for name in ("pending", "running", "nodes", "nodes.used"):
        yield MetricValue(name, "", areas.get(name, 0.0) / span, "")
    yield MetricValue("nodes.empty", "", (areas.get("nodes", 0.0) - areas.get("nodes.used", 0.0)) / span, "")
    if areas.get("cost", 0.0):
        yield MetricValue("cost", "", areas["cost"], "")


def tenant_shares(areas: Mapping[str, float]) -> dict[str, float]:
    """By tenant: the largest of its shares of the resources, over time or at a moment."""
    shares: dict[str, float] = {}
    for name, area in areas.items():
        head, _, rest = name.partition(".")
        if head == "tenant":
            tenant, _, resource = rest.partition(".")
            whole = areas.get(f"allocatable.{resource}", 0.0)
            if whole > 0:
                shares[tenant] = max(shares.get(tenant, 0.0), area / whole)
    return shares
