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

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from stowplan.config.args.fractional_gpu import GPU_SHARE_RESOURCES
from stowplan.study.grouped_rows import GroupedRows
from stowplan.study.load_metrics import LOADS, allocations, finish_times
from stowplan.study.metric_value import PERCENTILES, MetricValue
from stowplan.study.pod_requests import WHOLE_GPUS
from stowplan.study.recording import RunRecording
from stowplan.study.row_metrics import goodput, job_metrics, pod_metrics

_SPREADS = ("jct", "wait", "wait.censored", "startup", "slowdown")
_OF_ROWS = (
    "jobs", "unfinished", "bsld.mean", "makespan", "throughput", "pods", "pods.succeeded", "pods.failed",
    "pods.running", "pods.pending", "preemptions", "evictions", "lost.cpu", "lost.memory", "lost.gpu", "attempts",
    "slo.wait", "slo.jct",
)  # fmt: skip
_OF_MOMENTS = ("pending", "running", "nodes", "nodes.used", "nodes.empty")
_OF_RUNS = (
    "pending.max", "running.max", "nodes.max", "fairness.jain", "fairness.drf", "fairness.ftf.max",
    "fairness.ftf.late", "spread.skew",
)  # fmt: skip
_ENDS = ("mean", *(f"p{percent}" for percent in PERCENTILES), "max")
_OF_SPREADS = tuple(f"{name}.{end}" for name in _SPREADS for end in _ENDS)
SAMPLED_RESOURCES = ("cpu", "memory", *WHOLE_GPUS, *GPU_SHARE_RESOURCES)
"""Resources with values over time and with headlines, if some node has them."""
_BY_RESOURCE = {
    **dict.fromkeys(
        ("imbalance", "fragmentation.largest", "fragmentation.fgd", "fragmentation.stranded"), SAMPLED_RESOURCES
    ),
    "goodput": ("cpu", "memory"),
    "allocation": tuple(f"{resource}@{load}" for resource in ("cpu", "memory", "gpu") for load in LOADS),
}
UTILISATION = "utilisation."
"""Followed by a resource of the nodes."""
UTILISATIONS = tuple(UTILISATION + resource for resource in SAMPLED_RESOURCES)
METRICS_OVER_TIME = f"{', '.join(_OF_MOMENTS)} and {UTILISATION}<resource>"
_QUALIFIERS = {
    **dict.fromkeys((*_OF_ROWS, *_OF_SPREADS), ("where",)),
    **dict.fromkeys(_OF_MOMENTS, ("at", "over")),
    "cost": ("over",),
}
"""By metric: what an expectation may ask for other than the value of the whole run: the value of some pods or jobs
(`where`), at a moment (`at`), or over a window of time (`over`)."""
LOWER_IS_BETTER = ("jct", "wait", "startup", "slowdown", "bsld", "makespan", "imbalance", "fragmentation", "pending",
                   "cost", "spread", "preemptions", "evictions", "lost", "attempts", "unfinished", "nodes")  # fmt: skip
HIGHER_IS_BETTER = ("throughput", "goodput", "allocation", "utilisation", "fairness", "succeeded", "slo")


def known_metrics(resources: Iterable[str] = SAMPLED_RESOURCES) -> list[str]:
    """Names of all metrics, of utilisation with the given resources."""
    return [
        *(*_OF_ROWS, *_OF_MOMENTS, "cost", *_OF_RUNS, *_OF_SPREADS),
        *(f"{name}.{resource}" for name, named in _BY_RESOURCE.items() for resource in named),
        *(UTILISATION + resource for resource in resources),
    ]


def qualifiers_of(metric: str) -> tuple[str, ...]:
    """Fields of an expectation that a metric takes, of `at`, `over` and `where`."""
    return _QUALIFIERS["nodes"] if metric.startswith(UTILISATION) else _QUALIFIERS.get(metric, ())


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


def summarise(recording: RunRecording, begin: float, end: float, areas: Mapping[str, float]) -> Iterator[MetricValue]:
    """All metrics from `begin` to `end`; `areas` are the integrals over that time."""
    slo = recording.scenario.spec.record.slo
    yield from job_metrics(GroupedRows(recording.jobs.table, begin), slo, end - begin)
    pods = GroupedRows(recording.pods, begin)
    yield from pod_metrics(pods, slo, end)
    yield from _time_metrics(recording, areas, end - begin)
    yield from goodput(pods, areas)
    for name, value in allocations(recording.pods, areas, end - begin):
        yield MetricValue(name, "", value, "")
    ratios = finish_times(recording.jobs, areas, end - begin)
    if len(ratios):
        yield MetricValue("fairness.ftf.max", "", float(ratios.max()), "")
        yield MetricValue("fairness.ftf.late", "", float((ratios > 1).mean()), "")


def metrics_where(
    recording: RunRecording, begin: float, end: float, where: Mapping[str, object]
) -> Iterator[MetricValue]:
    """Metrics of the jobs and pods that fulfil conditions on workload, tenant and priority."""
    slo = recording.scenario.spec.record.slo
    yield from job_metrics(GroupedRows(recording.jobs.table, begin, where), slo, end - begin)
    yield from pod_metrics(GroupedRows(recording.pods, begin, where), slo, end)


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
