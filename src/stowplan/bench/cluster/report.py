"""Results of a workload, compared with the required ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stowplan.bench.cluster.run import Figures
from stowplan.bench.cluster.workload import KUBE_SCHEDULER, UPPER_BOUND, Bars
from stowplan.bench.result import Comparison, Ratios, encode, ratios_of

_COMPARED = ("per_second", "cpu_us_per_pod", "rss_mib")
_COMPARED_WITH_BARS = ("unschedulable_attempts", "victims")
"""Figures that are zero in most workloads; compared where the workload has a bar for them."""


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`. The figures outside of `peers` are Stowplan's."""

    scenario: str
    nodes: int
    pods: int
    rounds: int
    """How often each scheduler took its turn; the figures are medians."""
    calibration_s: float
    figures: Figures
    peers: dict[str, Figures]
    bars: Bars

    @property
    def ratios(self) -> Ratios:
        """Stowplan's figures divided by those of each peer."""
        counts = [field for field in _COMPARED_WITH_BARS if getattr(self.bars, field) is not None]
        return ratios_of(self.figures, self.peers, (*_COMPARED, *counts))

    @property
    def comparisons(self) -> list[Comparison]:
        """For the bars whose peer was measured."""
        return list(compare_with_bars(self.bars, self.figures, self.ratios))

    def to_json(self) -> bytes:
        fields: dict[str, Any] = {
            "scenario": self.scenario,
            "nodes": self.nodes,
            "pods": self.pods,
            "rounds": self.rounds,
            **msgspec.to_builtins(self.figures),
            "calibration_s": self.calibration_s,
            "peers": msgspec.to_builtins(self.peers),
            "ratios": self.ratios,
            "bars": msgspec.to_builtins(self.comparisons),
        }
        return encode(fields)


def compare_with_bars(bars: Bars, ours: Figures, ratios: Mapping[str, Mapping[str, float]]) -> Iterator[Comparison]:
    """Compare the figures with the bars."""
    theirs, upper_bound = ratios.get(KUBE_SCHEDULER), ratios.get(UPPER_BOUND)
    if bars.per_second is not None and theirs is not None:
        yield _rate(bars.per_second, theirs["per_second"], bars.of_upper_bound, upper_bound)
    for field in ("cpu_us_per_pod", "rss_mib", *_COMPARED_WITH_BARS):
        most = getattr(bars, field)
        if most is not None and theirs is not None:
            text = f"{field} at most {most:g} of {KUBE_SCHEDULER}'s"
            yield Comparison(bar=text, measured=theirs[field], met=theirs[field] <= most)
    if bars.first_bind_s is not None:
        text = f"first bind within {bars.first_bind_s:g} s of start"
        yield Comparison(bar=text, measured=ours.first_bind_s, met=ours.first_bind_s <= bars.first_bind_s)
    if bars.idle_cpu_share is not None and ours.idle_cpu_share is not None:
        text = f"idle at most {bars.idle_cpu_share:g} of a CPU"
        met = ours.idle_cpu_share <= bars.idle_cpu_share
        yield Comparison(bar=text, measured=ours.idle_cpu_share, met=met)


def _rate(least: float, ratio: float, share: float | None, upper_bound: Mapping[str, float] | None) -> Comparison:
    """The bar of the rate. A scheduler near the upper bound need not reach the ratio to kube-scheduler."""
    text = f"per_second at least {least:g} of {KUBE_SCHEDULER}'s"
    if ratio < least and share is not None and upper_bound is not None:
        text += f", or {share:g} of the ceiling's"
        if upper_bound["per_second"] >= share:
            return Comparison(bar=text, measured=upper_bound["per_second"], met=True)
    return Comparison(bar=text, measured=ratio, met=ratio >= least)
