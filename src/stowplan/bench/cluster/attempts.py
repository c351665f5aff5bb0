"""How long attempts took, by a scheduler's own metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf, isinf

_BUCKET = re.compile(r'scheduler_scheduling_attempt_duration_seconds_bucket\{.*\ble="([^"]+)".*\}')
_SCHEDULED = 'result="scheduled"'


def attempt_quantile(samples: Mapping[str, float], share: float) -> float | None:
    """The seconds that no more than this share of attempts took from the queue to the binding, evenly spread within
    buckets; None where none of them succeeded. Attempts beyond the last bucket count as if they were at its edge."""
    counts: dict[float, float] = {}
    for name, count in samples.items():
        found = _BUCKET.fullmatch(name)
        if found is not None and _SCHEDULED in name:
            edge = inf if found[1] == "+Inf" else float(found[1])
            counts[edge] = counts.get(edge, 0.0) + count
    wanted = share * counts.get(inf, 0.0)
    if not wanted:
        return None
    lower = below = 0.0
    for edge in sorted(counts):
        if counts[edge] >= wanted:
            return lower if isinf(edge) else lower + (edge - lower) * (wanted - below) / (counts[edge] - below)
        lower, below = edge, counts[edge]
    return lower
