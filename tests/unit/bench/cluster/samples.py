"""Figures and reports to test with."""

from typing import Any

from stowplan.bench.cluster.report import ClusterReport
from stowplan.bench.cluster.run import Figures
from stowplan.bench.cluster.workload import Bars


def figures(per_second: float = 400.0, cpu: float = 300.0, **changes: Any) -> Figures:
    usual: dict[str, Any] = {
        "p50_us": 1500.0,
        "p99_us": None,
        "rss_mib": 150.0,
        "first_bind_s": 2.25,
        "binds_per_second": 420.0,
        "events": 5000,
        "control_plane_us_per_pod": 3000.0,
        "others_cpu_share": 0.125,
        "idle_cpu_share": 0.01,
    }
    return Figures(per_second=per_second, cpu_us_per_pod=cpu, **usual | changes)


def report(bars: Bars, **peers: Figures) -> ClusterReport:
    named = {name.replace("_", "-"): peer for name, peer in peers.items()}
    return ClusterReport(
        scenario="basic",
        nodes=5000,
        pods=5000,
        rounds=1,
        calibration_s=0.12345,
        figures=figures(),
        peers=named,
        bars=bars,
    )
