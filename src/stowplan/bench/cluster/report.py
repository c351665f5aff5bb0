"""What a workload measured, and whether that is enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stowplan.bench.cluster.run import Figures
from stowplan.bench.cluster.workload import CEILING, KUBE_SCHEDULER, Bars
from stowplan.bench.comparison import Comparison, Ratios, encode, ratios_of

_COMPARED = ("per_second", "cpu_us_per_pod", "rss_mib")


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`. The figures outside of `peers` are our own."""

    scenario: str
    nodes: int
    pods: int
    rounds: int
    """How often each contestant took its turn; the figures are medians."""
    calibration_s: float
    figures: Figures
    peers: dict[str, Figures]
    bars: Bars

    @property
    def ratios(self) -> Ratios:
        """Our figures divided by those of each peer."""
        return ratios_of(self.figures, self.peers, _COMPARED)

    @property
    def verdicts(self) -> list[Comparison]:
        """Of the bars for which there is somebody to compare with."""
        return list(judge(self.bars, self.figures, self.ratios))

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
            "bars": msgspec.to_builtins(self.verdicts),
        }
        return encode(fields)


def judge(bars: Bars, ours: Figures, ratios: Mapping[str, Mapping[str, float]]) -> Iterator[Comparison]:
    """Compare what was measured with what is asked for."""
    theirs, ceiling = ratios.get(KUBE_SCHEDULER), ratios.get(CEILING)
    if bars.per_second is not None and theirs is not None:
        yield _rate(bars.per_second, theirs["per_second"], bars.of_ceiling, ceiling)
    for field in ("cpu_us_per_pod", "rss_mib"):
        most = getattr(bars, field)
        if most is not None and theirs is not None:
            text = f"{field} at most {most:g} of {KUBE_SCHEDULER}'s"
            yield Comparison(bar=text, measured=theirs[field], met=theirs[field] <= most)
    if bars.first_bind_s is not None:
        text = f"first bind within {bars.first_bind_s:g} s of start"
        yield Comparison(bar=text, measured=ours.first_bind_s, met=ours.first_bind_s <= bars.first_bind_s)


def _rate(least: float, ratio: float, share: float | None, ceiling: Mapping[str, float] | None) -> Comparison:
    """Whoever comes near the ceiling need not be so much faster than others."""
    text = f"per_second at least {least:g} of {KUBE_SCHEDULER}'s"
    if ratio < least and share is not None and ceiling is not None:
        text += f", or {share:g} of the ceiling's"
        if ceiling["per_second"] >= share:
            return Comparison(bar=text, measured=ceiling["per_second"], met=True)
    return Comparison(bar=text, measured=ratio, met=ratio >= least)
