"""What a scenario measured."""

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
    """Of the whole process when the scenario ended, not its peak."""
    calibration_s: float
    """The calibration loop's time, the mean of one run before and one after."""
    scaled_per_second: float
    """`per_second` on a machine where the calibration loop takes one second."""
    floor: float | None
    """What `scaled_per_second` has to reach with 5,000 nodes."""
    checked: int
    """Decisions that were made again with all caches off."""
    agreed: int
    unplaced: int
    """Pods that no node would take."""
    peers: dict[str, Any] = {}
    ratios: dict[str, Any] = {}
    max_rss_mib: float | None = None
    cost_ratio: float | None = None
    """Cost of a decision against that on the smallest cluster of the scenario."""
    max_cost_ratio: float | None = None
    min_rate_ratio: float | None = None
    """What the ratio to the rate of bare decisions has to reach."""

    def to_json(self) -> bytes:
        """One line, without what does not apply to the scenario."""
        fields = msgspec.structs.asdict(self)
        for name in ("max_rss_mib", "cost_ratio", "max_cost_ratio", "min_rate_ratio"):
            if fields[name] is None:
                del fields[name]
        rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in fields.items()}
        return msgspec.json.encode(rounded)
