"""Which candidate node to clear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stowplan.runtime.preemption.victims import started

if TYPE_CHECKING:
    from stowplan.runtime.preemption.dry_run import PreemptionCandidate

Costs = NDArray[np.int64]
"""[criterion, candidate]. Of each the least is best, and each decides only between those that the ones before it left
equal: violated budgets, the highest priority, the sum of priorities, the number of victims, and how long the longest
running of the victims of the highest priority has been running."""

CRITERIA = 5

PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive, so that a sum over victims grows with their number."""


def best(costs: Costs) -> list[int]:
    """The candidates that kube-scheduler might choose: one, or several that tie in everything."""
    left = np.arange(costs.shape[1])
    for values in costs:
        if len(left) < 2:
            break
        values = values[left]
        left = left[values == values.min()]
    positions: list[int] = left.tolist()
    return positions


def costs_of(candidates: Sequence[PreemptionCandidate]) -> Costs:
    rows = [
        (
            candidate.violations,
            candidate.victims[0].priority + PRIORITY_OFFSET,
            sum(victim.priority + PRIORITY_OFFSET for victim in candidate.victims),
            len(candidate.victims),
            -_earliest_start(candidate),
        )
        for candidate in candidates
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, CRITERIA).T


def _earliest_start(candidate: PreemptionCandidate) -> int:
    highest = candidate.victims[0].priority
    return min(started(victim.start_time) for victim in candidate.victims if victim.priority == highest)
