"""Comparison of configurations on one scenario: the same seeds, so the same arrivals, durations and failures.

Differences are taken for each seed. Their mean has an interval of 95 % by 2,000 bootstrap resamples of the seeds. With
several configurations the verdicts use Holm's correction of the bootstrap p-values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.errors import InputError
from stowplan.simulator.streams import RandomStream
from stowplan.study.expectation_checks import percent_of
from stowplan.study.metrics import UTILISATIONS, better_sign
from stowplan.study.result import RunResult

RESAMPLES = 2000
ROUNDING = 1e-9
"""Share of a value below which a difference counts as 0."""
CONFIDENCE = 0.95
HEADLINES = (
    "jct.mean", "jct.p95", "slowdown.mean", "wait.mean", "wait.p95", "makespan", "throughput", *UTILISATIONS,
    "fragmentation.largest.cpu", "imbalance.cpu", "nodes", "cost",
    "preemptions", "evictions", "lost.cpu", "fairness.jain", "pods.pending", "unfinished",
)  # fmt: skip


class MetricDifference(NamedTuple):
    """The difference of one configuration from the baseline in one metric."""

    variant: str
    mean: float
    low: float
    high: float
    p_value: float
    verdict: str
    """better, worse or same; empty if neither direction is better."""


class ComparedMetric(NamedTuple):
    """A metric of all configurations."""

    metric: str
    key: str
    unit: str
    means: Mapping[str, float]
    errors: Mapping[str, float]
    """Half of the interval of each mean over the seeds."""
    differences: tuple[MetricDifference, ...]

    @property
    def label(self) -> str:
        return f"{self.metric} {self.key}".rstrip()


class FirstDifference(NamedTuple):
    """The first pod that is placed elsewhere."""

    seed: int
    time: float
    pod: str
    nodes: tuple[str, str]


class PlacementDifference(NamedTuple):
    """How many pods one configuration places elsewhere than the baseline."""

    variant: str
    pods: int
    elsewhere: int
    first: FirstDifference | None


@dataclass(frozen=True)
class RunComparison:
    """Results of all configurations and seeds, compared with the baseline."""

    scenario: str
    baseline: str
    seeds: tuple[int, ...]
    results: Mapping[str, Sequence[RunResult]]
    metrics: tuple[ComparedMetric, ...]
    placements: tuple[PlacementDifference, ...] = field(default=())

    @property
    def variants(self) -> list[str]:
        """The baseline first."""
        return [self.baseline, *(name for name in self.results if name != self.baseline)]


def check_baseline(baseline: str, variants: Iterable[str]) -> None:
    """Raises InputError if none of the configurations has this name."""
    names = list(variants)
    if baseline not in names:
        raise InputError(f"--baseline {baseline}: no such configuration; there are {', '.join(names)}")


def compare_results(
    results: Mapping[str, Sequence[RunResult]], baseline: str, metrics: Sequence[str] = (), also: Sequence[str] = ()
) -> RunComparison:
    """Compare runs of several configurations with equal seeds.

    `metrics` are those to compare, by default the usual ones that are not 0, and `also` are further ones. A metric may
    have a group: `wait.p95 workload=web`.
    """
    check_baseline(baseline, results)
    seeds = tuple(each.seed for each in results[baseline])
    if any(tuple(each.seed for each in runs) != seeds for runs in results.values()):
        raise InputError("all configurations need runs with the same seeds")
    first = results[baseline][0]
    known = {(each.metric, each.key): each.unit for runs in results.values() for run in runs for each in run.values}
    asked = [_parsed(each, known) for each in (*metrics, *also)]
    usual = [] if metrics else [(name, "") for name in HEADLINES if (name, "") in known]
    compared = [
        each
        for metric, key in dict.fromkeys((*usual, *asked))
        if any((each := _compare(results, baseline, metric, key, known[metric, key])).means.values())
        or (metric, key) in asked
    ]
    others = [name for name in results if name != baseline]
    placements = [_placements(name, results[baseline], results[name]) for name in others]
    return RunComparison(first.scenario, baseline, seeds, results, tuple(compared), tuple(placements))


def _parsed(text: str, known: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    metric, _, key = text.partition(" ")
    if (metric, key) not in known:
        from stowplan.config.strict_decoding import suggestion

        raise InputError(f"unknown metric {text}{suggestion(metric, sorted({name for name, _ in known}))}")
    return metric, key


def _values(runs: Sequence[RunResult], metric: str, key: str) -> NDArray[np.float64]:
    found = [
        next((each.value for each in run.values if each.metric == metric and each.key == key), math.nan) for run in runs
    ]
    return np.array(found, dtype=np.float64)


def _compare(
    results: Mapping[str, Sequence[RunResult]], baseline: str, metric: str, key: str, unit: str
) -> ComparedMetric:
    values = {name: _values(runs, metric, key) for name, runs in results.items()}
    means = {name: float(np.nanmean(each)) if not np.isnan(each).all() else math.nan for name, each in values.items()}
    errors = {}
    for name, each in values.items():
        low, high, _ = bootstrap(each, f"{metric} {key} {name}")
        errors[name] = (high - low) / 2
    found = []
    for name in results:
        if name != baseline:
            paired = _paired(values[name], values[baseline])
            low, high, p_value = bootstrap(paired, f"{metric} {key}")
            mean = float(np.nanmean(paired)) if not np.isnan(paired).all() else math.nan
            found.append(MetricDifference(name, mean, low, high, p_value, ""))
    return ComparedMetric(metric, key, unit, means, errors, tuple(_with_verdicts(found, better_sign(metric))))


def _paired(values: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differences by seed. Sums in another order differ in their last digits: that is no difference."""
    found = values - base
    found[np.abs(found) <= ROUNDING * np.maximum(np.abs(values), np.abs(base))] = 0.0
    return found


def bootstrap(values: NDArray[np.float64], key: str) -> tuple[float, float, float]:
    """The interval of the mean, and the two-sided p-value of a mean of 0; draws depend on the key only."""
    values = values[~np.isnan(values)]
    count = len(values)
    if not count:
        return math.nan, math.nan, math.nan
    if count == 1 or (values == values[0]).all():
        return float(values[0]), float(values[0]), 0.0 if values[0] else 1.0
    stream = RandomStream(0, "compare", key)
    uniforms = np.array([stream.uniform() for _ in range(RESAMPLES * count)]).reshape(RESAMPLES, count)
    means = np.sort(values[(uniforms * count).astype(np.int64)].mean(axis=1))
    tail = (1 - CONFIDENCE) / 2
    low, high = means[int(RESAMPLES * tail)], means[min(RESAMPLES - 1, int(RESAMPLES * (1 - tail)))]
    p_value = 2 * min(float((means <= 0).mean()), float((means >= 0).mean()))
    return float(low), float(high), min(1.0, p_value)


def _with_verdicts(differences: Sequence[MetricDifference], sign: int) -> Iterator[MetricDifference]:
    """Verdicts by Holm's procedure; of one difference, by its interval."""
    significant: set[str] = set()
    for index, each in enumerate(sorted(differences, key=lambda each: each.p_value)):
        if not each.p_value <= (1 - CONFIDENCE) / (len(differences) - index):
            break
        significant.add(each.variant)
    for each in differences:
        holds_zero = not (each.low > 0 or each.high < 0)
        if each.variant not in significant or holds_zero:
            yield each._replace(verdict="same")
        elif sign:
            yield each._replace(verdict="better" if each.mean * sign > 0 else "worse")
        else:
            yield each


def _placements(name: str, before: Sequence[RunResult], after: Sequence[RunResult]) -> PlacementDifference:
    pods = elsewhere = 0
    first: FirstDifference | None = None
    for one, other in zip(before, after, strict=True):
        nodes = {row[0]: (row[1], row[2]) for row in _bound(one)}
        for pod, node, time in _bound(other):
            known = nodes.get(pod)
            if known is None:
                continue
            pods += 1
            if known[0] != node:
                elsewhere += 1
                moment = min(time, known[1])
                if first is None or (one.seed == first.seed and moment < first.time):
                    first = FirstDifference(one.seed, moment, pod, (known[0], node))
    return PlacementDifference(name, pods, elsewhere, first)


def _bound(result: RunResult) -> Iterator[tuple[str, str, float]]:
    columns = [result.pods.columns.index(name) for name in ("pod", "node", "bound")]
    for row in result.pods.rows():
        pod, node, bound = (row[index] for index in columns)
        if node:
            yield pod, node, bound


class FailRule(NamedTuple):
    """A condition such as `wait.p95 worse 5%`."""

    metric: str
    share: float

    @classmethod
    def parse(cls, text: str) -> FailRule:
        metric, worse, share = text.rsplit(" ", 2) if text.count(" ") >= 2 else ("", "", "")
        if worse != "worse" or not metric:
            raise InputError(f"--fail-if {text}: expected METRIC worse PERCENT, such as 'wait.p95 worse 5%'")
        try:
            return cls(metric, percent_of(share))
        except ValueError as error:
            raise InputError(f"--fail-if {text}: {error}") from error

    def broken_by(self, comparison: RunComparison) -> list[str]:
        """A line for each configuration that is worse by more than the share, beyond the interval."""
        for each in comparison.metrics:
            if each.label == self.metric:
                base = each.means[comparison.baseline]
                return [
                    f"{found.variant}: {each.label} is {abs(found.mean / base) if base else math.inf:.1%} worse"
                    for found in each.differences
                    if found.verdict == "worse" and abs(found.mean) > self.share * abs(base)
                ]
        raise InputError(f"--fail-if: metric {self.metric} is not compared")


def as_document(comparison: RunComparison) -> dict[str, Any]:
    """The comparison as plain data. One seed gives neither intervals nor p-values."""
    several = len(comparison.seeds) > 1

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "scenario": comparison.scenario,
        "baseline": comparison.baseline,
        "seeds": list(comparison.seeds),
        "confidence": CONFIDENCE,
        "metrics": [
            {
                "metric": each.metric,
                "key": each.key,
                "unit": each.unit,
                "means": {name: number(value) for name, value in each.means.items()},
                "errors": {name: number(value) if several else None for name, value in each.errors.items()},
                "differences": [
                    {
                        "variant": found.variant,
                        "mean": number(found.mean),
                        "low": number(found.low) if several else None,
                        "high": number(found.high) if several else None,
                        "p": number(found.p_value) if several else None,
                        "verdict": found.verdict if several else "",
                    }
                    for found in each.differences
                ],
            }
            for each in comparison.metrics
        ],
        "placements": [
            {
                "variant": each.variant,
                "pods": each.pods,
                "elsewhere": each.elsewhere,
                "first": None if each.first is None else {**each.first._asdict(), "nodes": list(each.first.nodes)},
            }
            for each in comparison.placements
        ],
    }
