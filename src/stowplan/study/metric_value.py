"""A value of a run's summary, and the values that describe many numbers: mean, percentiles and maximum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stowplan.study.grouped_rows import Floats

PERCENTILES = (50, 90, 95, 99)


class MetricValue(NamedTuple):
    """A value of the summary; `key` is empty, or `workload=batch` and the like."""

    metric: str
    key: str
    value: float
    unit: str


def percentile(values: Floats, percent: float) -> float:
    """The nearest rank: the smallest value that at least so many percent of the values do not exceed."""
    if not len(values):
        return math.nan
    rank = _rank(percent, len(values))
    return float(np.partition(values, rank)[rank])


def _rank(percent: float, count: int) -> int:
    return max(1, math.ceil(percent / 100 * count)) - 1


def spread(metric: str, key: str, values: Floats, unit: str) -> Iterator[MetricValue]:
    """Mean, percentiles and the largest value. Changes the order of the numbers, so that they are not copied."""
    if not len(values):
        return
    yield MetricValue(f"{metric}.mean", key, float(np.mean(values)), unit)
    ranks = [_rank(percent, len(values)) for percent in PERCENTILES]
    values.partition(ranks)
    for percent, rank in zip(PERCENTILES, ranks, strict=True):
        yield MetricValue(f"{metric}.p{percent}", key, float(values[rank]), unit)
    yield MetricValue(f"{metric}.max", key, float(np.max(values)), unit)
