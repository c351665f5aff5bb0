"""The beta distribution with a given mean and variance.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/trimaran/lowriskovercommitment/beta
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import NamedTuple

_MAX_TERMS = 300
_PRECISION = 3e-16
_TINY = 1e-300


class BetaDistribution(NamedTuple):
    """A distribution over 0..1."""

    alpha: float
    beta: float

    def probability(self, x: float) -> float:
        """P(X <= x): the regularised incomplete beta function."""
        if x <= 0:
            return 0.0
        if x >= 1:
            return 1.0
        alpha, beta = self
        scale = exp(lgamma(alpha + beta) - lgamma(alpha) - lgamma(beta) + alpha * log(x) + beta * log1p(-x))
        if x < (alpha + 1) / (alpha + beta + 2):
            return scale * _fraction(alpha, beta, x) / alpha
        return 1 - scale * _fraction(beta, alpha, 1 - x) / beta


def beta_distribution(mean: float, deviation: float) -> BetaDistribution | None:
    """The distribution with these moments; None if there is none."""
    variance = deviation * deviation
    if not 0 < mean < 1 or not 0 < variance < mean * (1 - mean):
        return None
    total = mean * (1 - mean) / variance - 1
    return BetaDistribution(mean * total, (1 - mean) * total)


def _fraction(alpha: float, beta: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, _inverse(1 - (alpha + beta) * x / (alpha + 1))
    value = d
    for m in range(1, _MAX_TERMS):
        for numerator in (
            m * (beta - m) * x / ((alpha + 2 * m - 1) * (alpha + 2 * m)),
            -(alpha + m) * (alpha + beta + m) * x / ((alpha + 2 * m) * (alpha + 2 * m + 1)),
        ):
            d = _inverse(1 + numerator * d)
            c = 1 + numerator / (c if abs(c) > _TINY else _TINY)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _inverse(value: float) -> float:
    return 1 / (value if abs(value) > _TINY else _TINY)
