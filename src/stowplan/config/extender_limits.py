"""Time limits of extender calls in addition to `httpTimeout`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stowplan.framework.extender import ExtenderVerb


@dataclass(frozen=True, slots=True)
class ExtenderLimits:
    """Limits for all extenders. The defaults add none, as in kube-scheduler."""

    timeouts: Mapping[ExtenderVerb, float] = field(default_factory=dict)
    """Seconds by verb, if less than the entry's httpTimeout."""
    hedge_after: float = 0.0
    """Seconds after which an idempotent call is sent a second time; the first reply wins. Zero disables it."""

    def timeout(self, verb: ExtenderVerb, http_timeout: float | None) -> float | None:
        limits = [limit for limit in (self.timeouts.get(verb), http_timeout) if limit is not None]
        return min(limits, default=None)
