"""Measures the start of a scheduler in front of the stand-in: time, memory and the first bindings."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

import msgspec
import yaml

from stowplan.bench.machine import calibrate
from stowplan.bench.result import encode
from stowplan.bench.sizes.stand_in import NEW_PODS
from stowplan.testing import Process, cpu_seconds, free_port, rss_mib
from stowplan.testing.kube_scheduler import complete_config
from stowplan.testing.processes import peak_rss_mib

MAX_RSS_MIB = 2560
MAX_START_SECONDS = 60.0
"""Required of 50,000 nodes and 500,000 pods where the calibration loop takes one second."""

_STAND_IN_TIMEOUT_SECONDS = 600.0
_START_TIMEOUT_SECONDS = 900.0

Progress = Callable[[str], None]


class ClusterSize(NamedTuple):
    """The size of the cluster, and of the batch of pods that is created when the scheduler is ready."""

    nodes: int = 50_000
    pods: int = 500_000
    new_pods: int = 1_000


class SizeReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`."""

    scenario: str
    size: ClusterSize
    start_s: float
    """From the start of the process to the binding of a pod that is created as soon as the scheduler watches."""
    scaled_start_s: float
    """`start_s` on a machine where the calibration loop takes one second."""
    start_cpu_s: float
    binds_per_second: float
    """Of the new pods, from their creation to the last binding."""
    peak_rss_mib: float
    rss_mib: float
    calibration_s: float

    def to_json(self) -> bytes:
        fields = msgspec.structs.asdict(self)
        size: dict[str, Any] = fields.pop("size")._asdict()
        return encode({"scenario": fields.pop("scenario"), **size, **fields})


def measure_sizes(size: ClusterSize, progress: Progress) -> SizeReport:
    """Run the stand-in, then a scheduler, each as a process."""
    folder = Path(tempfile.mkdtemp(prefix="stowplan-sizes-"))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "stowplan.bench.sizes.stand_in", str(size.nodes), str(size.pods), str(port)]
    with Process("stand-in", command, folder / "stand-in.log") as stand_in:
        progress(f"making {size.nodes:,} nodes and {size.pods:,} pods")
        stand_in.wait_ready(lambda: _answers(f"{url}/version"), timeout=_STAND_IN_TIMEOUT_SECONDS)
        before = calibrate()
        progress("starting the scheduler")
        since = monotonic()
        with Process("stowplan", scheduler_command(folder, url), folder / "stowplan.log") as scheduler:
            create_pods(url, 1)
            start, pid = monotonic() - since, scheduler.pid
            cpu, peak = cpu_seconds(pid), peak_rss_mib(pid)
            progress(f"first binding after {start:.1f} s, {peak:,.0f} MiB")
            seconds = create_pods(url, size.new_pods)
            calibration = (before + calibrate()) / 2
            return SizeReport(
                scenario="sizes",
                size=size,
                start_s=start,
                scaled_start_s=start / calibration,
                start_cpu_s=cpu,
                binds_per_second=size.new_pods / seconds,
                peak_rss_mib=peak_rss_mib(pid),
                rss_mib=rss_mib(pid),
                calibration_s=calibration,
            )


def scheduler_command(folder: Path, url: str) -> list[str]:
    """The scheduler in front of an API server at a URL, without serving and leader election."""
    cluster = {"name": "stand-in", "cluster": {"server": url}}
    context = {"name": "stand-in", "context": {"cluster": "stand-in", "user": "stand-in"}}
    user = {"name": "stand-in", "user": {}}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": [user]}
    kubeconfig, config_file = folder / "kubeconfig", folder / "config.yaml"
    kubeconfig.write_text(yaml.safe_dump(config | {"current-context": "stand-in"}))
    config_file.write_text(yaml.safe_dump(complete_config({}, kubeconfig)))
    return [sys.executable, "-m", "stowplan", "scheduler", f"--config={config_file}", "--secure-port=0"]


def create_pods(url: str, count: int) -> float:
    """Create pods as soon as the scheduler watches pods; the seconds from then until all are bound."""
    request = Request(f"{url}{NEW_PODS}?count={count}", method="POST")
    with urlopen(request, timeout=_START_TIMEOUT_SECONDS) as reply:
        return float(json.load(reply)["seconds"])


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5.0):
            return True
    except (URLError, OSError):
        return False
