"""Metrics of the rows of pods and jobs, for each group. One column is in memory at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain

import numpy as np

from stowplan.simulator.kubelet import SUCCEEDED
from stowplan.simulator.scenario.quantities import seconds_of
from stowplan.study.grouped_rows import Floats, GroupedRows
from stowplan.study.metric_value import MetricValue, spread
from stowplan.study.recording import INTERRUPTED

Objectives = Mapping[str, object]
"""`record.slo`: bounds by metric."""
_MIN_BOUNDED_WORK_SECONDS = 10.0
_AMOUNTS = (("cpu", "request_cpu_m", 1000), ("memory", "request_memory", 2**30), ("gpu", "request_gpu_m", 1000))


def job_metrics(jobs: GroupedRows, slo: Objectives, span: float) -> Iterator[MetricValue]:
    """Metrics of jobs over a time of `span` seconds, group by group."""
    return _by_key(jobs, chain(_completion_times(jobs, slo), _slowdowns(jobs), _ends(jobs, span)))


def pod_metrics(pods: GroupedRows, slo: Objectives, end: float) -> Iterator[MetricValue]:
    """Metrics of pods up to the end, group by group."""
    return _by_key(pods, chain(_waits(pods, slo, end), _startups(pods), _outcomes(pods), _losses(pods)))


def _by_key(rows: GroupedRows, values: Iterable[MetricValue]) -> Iterator[MetricValue]:
    """The values in the order of the groups."""
    found: defaultdict[str, list[MetricValue]] = defaultdict(list)
    for each in values:
        found[each.key].append(each)
    for key in rows.keys:
        yield from found[key]


def _completion_times(jobs: GroupedRows, slo: Objectives) -> Iterator[MetricValue]:
    times = jobs.column("jct_s")
    unfinished = {key: outcomes["unfinished"] for key, outcomes in jobs.outcomes()}
    for key, values in jobs.each(times):
        yield from _objective(slo, "jct", key, values)
        yield MetricValue("jobs", key, float(len(values)), "")
        yield MetricValue("unfinished", key, float(unfinished[key]), "")
    for key, values in jobs.known(times):
        yield from spread("jct", key, values, "s")


def _slowdowns(jobs: GroupedRows) -> Iterator[MetricValue]:
    slowdowns = jobs.computed(("jct_s", "work_s"), _slowdown)
    worked = set()
    for key, values in jobs.known(slowdowns):
        if len(values):
            worked.add(key)
        yield from spread("slowdown", key, values, "")
    for key, values in jobs.known(jobs.computed(("jct_s", "work_s"), _bounded_slowdown)):
        if key in worked:
            yield MetricValue("bsld.mean", key, float(values.mean()), "")


def _slowdown(jct: Floats, work: Floats) -> Floats:
    found: Floats = np.full(len(jct), np.nan)
    np.divide(jct, work, out=found, where=work > 0)
    return found


def _bounded_slowdown(jct: Floats, work: Floats) -> Floats:
    return np.maximum(1.0, jct / np.maximum(work, _MIN_BOUNDED_WORK_SECONDS))


def _ends(jobs: GroupedRows, span: float) -> Iterator[MetricValue]:
    first = {key: values.min() for key, values in jobs.each(jobs.column("submitted")) if len(values)}
    ended = jobs.computed(("jct_s", "ended"), lambda jct, ended: np.where(np.isnan(jct), np.nan, ended))
    for key, values in jobs.known(ended):
        if len(values):
            yield MetricValue("makespan", key, float(values.max()) - float(first[key]), "s")
            yield MetricValue("throughput", key, float(len(values)) / span * 3600 if span > 0 else 0.0, "/h")


def _waits(pods: GroupedRows, slo: Objectives, end: float) -> Iterator[MetricValue]:
    waited = pods.column("waited_s")
    for key, values in pods.each(waited):
        yield MetricValue("pods", key, float(len(values)), "")
        yield from _objective(slo, "wait", key, values)
    for key, values in pods.known(waited):
        yield from spread("wait", key, values, "s")
    del waited
    for key, values in pods.known(pods.computed(("waited_s", "submitted"), partial(_wait_so_far, end))):
        yield from spread("wait.censored", key, values, "s")


def _wait_so_far(end: float, waited: Floats, submitted: Floats) -> Floats:
    return np.where(np.isnan(waited), end - submitted, waited)


def _startups(pods: GroupedRows) -> Iterator[MetricValue]:
    for key, values in pods.known(pods.computed(("running", "bound"), np.subtract)):
        if values.any():
            yield from spread("startup", key, values, "s")


def _outcomes(pods: GroupedRows) -> Iterator[MetricValue]:
    for key, outcomes in pods.outcomes():
        for state in ("succeeded", "failed", "running", "pending"):
            yield MetricValue(f"pods.{state}", key, float(outcomes[state]), "")
        yield MetricValue("preemptions", key, float(outcomes["preempted"]), "")
        yield MetricValue("evictions", key, float(sum(outcomes[each] for each in INTERRUPTED[1:])), "")


def _losses(pods: GroupedRows) -> Iterator[MetricValue]:
    nothing = not pods.column("lost_s").any()
    for name, column, unit in _AMOUNTS:
        if nothing:
            yield from (MetricValue(f"lost.{name}", key, 0.0, "h") for key in pods.keys)
            continue
        for key, values in pods.each(pods.computed(("lost_s", column), np.multiply)):
            yield MetricValue(f"lost.{name}", key, float(values.sum()) / unit / 3600, "h")
    for key, values in pods.each(pods.column("attempts")):
        if len(values):
            yield MetricValue("attempts", key, float(values.mean()), "")


def _objective(slo: Objectives, name: str, key: str, values: Floats) -> Iterator[MetricValue]:
    bound = slo.get(name)
    if bound is not None and len(values):
        yield MetricValue(f"slo.{name}", key, float((values <= seconds_of(bound)).mean()), "")


def goodput(pods: GroupedRows, areas: Mapping[str, float]) -> Iterator[MetricValue]:
    """The share of the capacity that went into work of pods that succeeded."""
    for resource, column in (("cpu", "request_cpu_m"), ("memory", "request_memory")):
        whole = areas.get(f"allocatable.{resource}", 0.0)
        if whole > 0:
            _, kept = next(pods.known(pods.computed(("outcome", "work_s", column), _useful_work)))
            yield MetricValue(f"goodput.{resource}", "", float(kept.sum()) / whole, "")


def _useful_work(outcome: Floats, work: Floats, amount: Floats) -> Floats:
    return np.where(outcome == SUCCEEDED, work * amount, np.nan)
