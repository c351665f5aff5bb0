"""The published results of the openb experiments, and their comparison with ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from msgspec.structs import replace

from stowplan.bench.openb.experiment import OpenbResult
from stowplan.bench.openb.load_curve import MAX_LOAD_PERCENT
from stowplan.traces.rows import find_file, read_rows

MAX_ALLOCATION_ERROR = 0.005
MAX_FRAGMENTATION_ERROR = 1e-6

MAX_MEAN_ERRORS = {
    "Random": 0.5,
    "DotProd": 0.4,
    "GpuClustering": 0.9,
    "GpuPacking": 0.8,
    "BestFit": 0.3,
    "FGD": 0.2,
}
"""For ten seeds with orders of our own: the difference of the mean allocation at load 100, in points."""

_ALLOCATION, _FRAGMENTATION = "expected_allocation.csv", "expected_frag_ratio.csv"

Key = tuple[str, str, int]
"""(trace, policy, seed)."""


class ExactComparison(NamedTuple):
    """How many points of an experiment equal the published ones."""

    points: int
    allocation: int
    fragmentation: int

    @property
    def is_exact(self) -> bool:
        return self.allocation == self.fragmentation == self.points


class MeanComparison(NamedTuple):
    """Mean and standard deviation over seeds of the allocation at load 100."""

    seeds: int
    ours: float
    ours_deviation: float
    theirs: float
    theirs_deviation: float


class PublishedResults:
    """Results by trace, policy and seed."""

    def __init__(self, allocation: dict[Key, list[float]], fragmentation: dict[Key, list[float]]) -> None:
        self._allocation = allocation
        self._fragmentation = fragmentation

    @classmethod
    def load(cls, folder: Path) -> PublishedResults:
        return cls(*(_read(find_file(folder, name)) for name in (_ALLOCATION, _FRAGMENTATION)))

    def compare(self, result: OpenbResult) -> ExactComparison | None:
        """Compare point by point; None without a published result."""
        key = (result.trace, result.policy, result.seed)
        if key not in self._allocation or key not in self._fragmentation:
            return None
        return ExactComparison(
            MAX_LOAD_PERCENT + 1,
            _equal(result.allocation, self._allocation[key], MAX_ALLOCATION_ERROR),
            _equal(result.fragmentation, self._fragmentation[key], MAX_FRAGMENTATION_ERROR),
        )

    def compared(self, result: OpenbResult) -> OpenbResult:
        """The result with the number of equal points."""
        found = self.compare(result)
        if found is None:
            return result
        return replace(result, equal_allocation=found.allocation, equal_fragmentation=found.fragmentation)

    def compare_means(self, results: Iterable[OpenbResult]) -> dict[tuple[str, str], MeanComparison]:
        """By trace and policy: the means over the seeds that both have."""
        ours: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for result in results:
            theirs = self._allocation.get((result.trace, result.policy, result.seed))
            if theirs is not None:
                ours[result.trace, result.policy].append((result.allocation[100], theirs[100]))
        return {key: _means(pairs) for key, pairs in ours.items()}


def _means(pairs: list[tuple[float, float]]) -> MeanComparison:
    ours, theirs = zip(*pairs, strict=True)
    spread = [stdev(values) if len(values) > 1 else 0.0 for values in (ours, theirs)]
    return MeanComparison(len(pairs), fmean(ours), spread[0], fmean(theirs), spread[1])


def _equal(ours: list[float], theirs: list[float], limit: float) -> int:
    return sum(abs(a - b) < limit for a, b in zip(ours, theirs, strict=True))


def _read(path: Path) -> dict[Key, list[float]]:
    loads = [str(load) for load in range(MAX_LOAD_PERCENT + 1)]
    found = {}
    for row in read_rows(path, ("workload", "sc_policy", "seed", *loads)):
        key = (row.text("workload").removeprefix("openb_pod_list_"), row.text("sc_policy")[3:], int(row.number("seed")))
        found[key] = [row.number(load) for load in loads]
    return found
