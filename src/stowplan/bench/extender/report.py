"""Results of an extender workload, compared with the required ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stowplan.bench.result import Comparison, Ratios, encode, ratios_of

_COMPARED = ("per_second", "cpu_us_per_pod", "p50_us", "p99_us", "rss_mib")


class ExtenderFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one extender, with times of the client: from the first byte sent to the last received."""

    per_second: float
    cpu_us_per_pod: float
    p50_us: float
    p99_us: float
    rss_mib: float


class ExtenderReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`. Each request is for one pod."""

    scenario: str
    nodes: int
    pods: int
    calibration_s: float
    figures: ExtenderFigures
    peers: dict[str, ExtenderFigures] = {}
    compared: int = 0
    """Replies that were compared with those of the extender in Go."""
    disagreements: Sequence[str] = ()
    comparisons: Sequence[Comparison] = ()

    @property
    def ratios(self) -> Ratios:
        """Stowplan's figures divided by those of each peer."""
        return ratios_of(self.figures, self.peers, _COMPARED)

    def to_json(self) -> bytes:
        fields: dict[str, Any] = {
            "scenario": self.scenario,
            "nodes": self.nodes,
            "pods": self.pods,
            **msgspec.to_builtins(self.figures),
            "calibration_s": self.calibration_s,
            "peers": msgspec.to_builtins(self.peers),
            "ratios": self.ratios,
            "compared": self.compared,
            "agreed": self.compared - len(self.disagreements),
            "bars": msgspec.to_builtins(self.comparisons),
        }
        return encode(fields)


def figures(seconds: Sequence[float], cpu_seconds: float, rss_mib: float) -> ExtenderFigures:
    """Figures from the request times of one extender."""
    ordered = sorted(seconds)
    return ExtenderFigures(
        per_second=len(seconds) / sum(seconds),
        cpu_us_per_pod=cpu_seconds / len(seconds) * 1e6,
        p50_us=_quantile(ordered, 0.5) * 1e6,
        p99_us=_quantile(ordered, 0.99) * 1e6,
        rss_mib=rss_mib,
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of all values."""
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
