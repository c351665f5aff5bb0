"""Which candidate node to clear: the five criteria of kube-scheduler, each in a form for one node and one for many.

Upstream: pkg/scheduler/framework/preemption/preemption.go (SelectCandidate, pickOneNodeForPreemption)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.runtime.preemption.victims import NEVER_STARTED_NANOSECONDS, started

if TYPE_CHECKING:
    from stowplan.runtime.preemption.dry_run import PreemptionCandidate

Ints = NDArray[np.int64]

Costs = Ints
"""[criterion, candidate]; the least is best."""

PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive, so that a sum over victims grows with their number."""


class VictimColumns(NamedTuple):
    """Pods of many candidates: [place, candidate], 0 where the pod at the place is not a victim."""

    victims: NDArray[np.bool_]
    weights: Ints
    """Priorities, made positive."""
    starts: Ints
    """Start times of all pods, victims or not."""
    protected: Ints
    """1 for pods that a PodDisruptionBudget protects."""


class Criterion(NamedTuple):
    """A cost of a candidate. It decides between candidates that are equal by all criteria before it."""

    of_candidate: Callable[[PreemptionCandidate], int]
    of_columns: Callable[[VictimColumns], Ints]


CRITERIA = (
    # Fewest violations of PodDisruptionBudgets.
    Criterion(lambda candidate: candidate.violations, lambda columns: columns.protected.sum(axis=0)),
    # Lowest priority of the most important victim.
    Criterion(
        lambda candidate: candidate.victims[0].priority + PRIORITY_OFFSET, lambda columns: columns.weights.max(axis=0)
    ),
    # Lowest sum of priorities.
    Criterion(
        lambda candidate: sum(victim.priority + PRIORITY_OFFSET for victim in candidate.victims),
        lambda columns: columns.weights.sum(axis=0),
    ),
    # Fewest victims.
    Criterion(lambda candidate: len(candidate.victims), lambda columns: columns.victims.sum(axis=0)),
    # Latest start of the victims of the highest priority, of which the earliest counts.
    Criterion(lambda candidate: -_earliest_start(candidate), lambda columns: -_earliest_starts(columns)),
)


def best(costs: Costs) -> list[int]:
    """The candidates that kube-scheduler might choose: one, or several that are equal by all criteria."""
    left = np.arange(costs.shape[1])
    for values in costs:
        if len(left) < 2:
            break
        values = values[left]
        left = left[values == values.min()]
    positions: list[int] = left.tolist()
    return positions


def costs_of(candidates: Sequence[PreemptionCandidate]) -> Costs:
    rows = [[criterion.of_candidate(candidate) for candidate in candidates] for criterion in CRITERIA]
    return np.array(rows, dtype=np.int64)


def costs_of_columns(columns: VictimColumns) -> Costs:
    """The vector form of `costs_of`."""
    costs = np.zeros((len(CRITERIA), columns.victims.shape[1]), dtype=np.int64)
    if len(columns.victims):
        for row, criterion in zip(costs, CRITERIA, strict=True):
            row[:] = criterion.of_columns(columns)
    return costs


def _earliest_start(candidate: PreemptionCandidate) -> int:
    highest = candidate.victims[0].priority
    return min(started(victim.start_time) for victim in candidate.victims if victim.priority == highest)


def _earliest_starts(columns: VictimColumns) -> Ints:
    highest = columns.victims & (columns.weights == columns.weights.max(axis=0))
    earliest: Ints = np.where(highest, columns.starts, NEVER_STARTED_NANOSECONDS).min(axis=0)
    return earliest
