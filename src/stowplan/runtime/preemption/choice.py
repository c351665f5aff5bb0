"""Which candidate node to clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stowplan.runtime.preemption.dry_run import Candidate
from stowplan.runtime.preemption.victims import NOT_STARTED

_PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive, so that a sum over victims grows with their number."""


def _earliest_start(candidate: Candidate) -> str:
    """When the longest running of the most important victims started."""
    highest = candidate.victims[0].priority
    return min(victim.start_time or NOT_STARTED for victim in candidate.victims if victim.priority == highest)


CRITERIA: tuple[Callable[[Candidate], int], ...] = (
    lambda candidate: candidate.violations,
    lambda candidate: candidate.victims[0].priority,
    lambda candidate: sum(victim.priority + _PRIORITY_OFFSET for victim in candidate.victims),
    lambda candidate: len(candidate.victims),
)
"""The smaller, the better; each decides only between those that the ones before it left equal."""


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that kube-scheduler might choose: one, or several that tie in everything."""
    left = list(candidates)
    for criterion in CRITERIA:
        if len(left) < 2:
            return left
        values = [criterion(candidate) for candidate in left]
        least = min(values)
        left = [candidate for candidate, value in zip(left, values, strict=True) if value == least]
    if len(left) < 2:
        return left
    starts = [_earliest_start(candidate) for candidate in left]
    latest = max(starts)
    return [candidate for candidate, start in zip(left, starts, strict=True) if start == latest]
