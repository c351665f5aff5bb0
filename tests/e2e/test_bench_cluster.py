"""The benchmark on a real control plane, small: that it measures, not how fast anything is."""

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.e2e.devices import CLAIMS_ARE_SERVED

from stowplan.testing.binaries import find

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _binaries() -> None:
    missing = [name for name in ("etcd", "kube-apiserver", "kube-scheduler") if find(name) is None]
    if missing:
        pytest.skip(f"not on this machine: {', '.join(missing)}")


def bench(*args: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "stowplan", "bench", "cluster", "--json", "--nodes", "20", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_all_schedulers_schedule_all_pods() -> None:
    (told,) = bench("--workload", "basic", "--pods", "30")
    assert (told["scenario"], told["nodes"], told["pods"]) == ("basic", 20, 30)
    assert list(told["peers"]) == ["kube-scheduler", "ceiling"]
    for figures in (told, *told["peers"].values()):
        assert figures["events"] == 30
        assert figures["per_second"] > 0
        assert figures["first_bind_s"] > 0
        assert figures["rss_mib"] > 10
    for figures in (told, told["peers"]["kube-scheduler"]):
        assert 0 < figures["p50_us"] <= figures["p99_us"]
    assert told["ratios"].keys() == {"kube-scheduler", "ceiling"}
    assert [bar["bar"].split()[0] for bar in told["bars"]] == [
        "per_second",
        "cpu_us_per_pod",
        "rss_mib",
        "first",
    ]


def test_victims_go_at_once_and_pods_run_before() -> None:
    names = ("preemption", *(["devices"] if CLAIMS_ARE_SERVED else []), "startup")
    chosen = [option for name in names for option in ("--workload", name)]
    preemption, *others = bench(*chosen, "--pods", "10", "--peers", "none")
    assert preemption["events"] >= 30
    assert [told["events"] for told in others] == [10] * (len(names) - 1)
    assert preemption["first_bind_s"] > 0


@pytest.mark.parametrize("workload", ["preemption-basic", "preemption-pvs", "preemption-async"])
def test_preemptors_are_tried_as_often_as_by_kube_scheduler(workload: str) -> None:
    """Victims are gone at once here, so each preemptor needs one attempt to preempt and one to be bound."""
    (told,) = bench("--workload", workload, "--nodes", "50", "--pods", "50", "--peers", "kube-scheduler")
    kube = told["peers"]["kube-scheduler"]
    assert kube["unschedulable_attempts"] >= 50
    assert told["unschedulable_attempts"] <= 1.1 * kube["unschedulable_attempts"]
    assert told["victims"] == 150 <= kube["victims"]
