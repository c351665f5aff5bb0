"""Results of benchmarks, and comparisons with peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`. Times are in microseconds, rates in pods a second."""

    scenario: str
    nodes: int
    pods: int
    per_second: float
    cpu_us_per_pod: float
    p50_us: float
    p99_us: float
    rss_mib: float
    """Resident memory of the process at the end of the scenario, not its peak."""
    calibration_s: float
    """The calibration loop's time, the mean of one run before and one after."""
    scaled_per_second: float
    """`per_second` on a machine where the calibration loop takes one second."""
    floor: float | None
    """Required `scaled_per_second` with 5,000 nodes."""
    checked: int
    """Decisions that were made a second time with all caches off."""
    agreed: int
    unplaced: int
    """Pods without a feasible node."""
    peers: dict[str, Any] = {}
    ratios: dict[str, Any] = {}
    max_rss_mib: float | None = None
    cost_ratio: float | None = None
    """Cost of a decision relative to that on the smallest cluster of the scenario."""
    max_cost_ratio: float | None = None
    min_rate_ratio: float | None = None
    """Required ratio to the rate of decisions without the loop."""

    def to_json(self) -> bytes:
        """One line, without the fields that do not apply to the scenario."""
        fields = msgspec.structs.asdict(self)
        for name in ("max_rss_mib", "cost_ratio", "max_cost_ratio", "min_rate_ratio"):
            if fields[name] is None:
                del fields[name]
        rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in fields.items()}
        return msgspec.json.encode(rounded)


Ratios = dict[str, dict[str, float]]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A required value and the measured one."""

    bar: str
    measured: float
    met: bool


def ratios_of(ours: Any, peers: Mapping[str, Any], fields: Sequence[str]) -> Ratios:
    """Stowplan's figures divided by those of each peer."""
    return {
        name: {field: getattr(ours, field) / max(getattr(peer, field), 1e-9) for field in fields}
        for name, peer in peers.items()
    }


def encode(fields: dict[str, Any]) -> bytes:
    """A line of `--json`, rounded to three decimals."""
    return msgspec.json.encode(_rounded(msgspec.to_builtins(fields)))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_rounded(member) for member in value]
    return value
