import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.bench.cluster.samples import figures, report

from stowplan.bench.cluster import NAMES, PEERS, ClusterReport
from stowplan.bench.cluster.workload import Bars
from stowplan.cli import bench_cluster as module
from stowplan.cli.bench import bench
from stowplan.testing.certificates import Authority
from stowplan.testing.errors import UnavailableError

REPORT = report(
    Bars(per_second=2, cpu_us_per_pod=0.05),
    kube_scheduler=figures(per_second=160.0, cpu=3000.0, rss_mib=1300.0, unschedulable_attempts=150, victims=450),
    ceiling=figures(per_second=500.0, cpu=180.0),
)


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> tuple[Result, dict[str, Any]]:
    """Runs the command with a fake runner; returns the settings passed to it."""
    passed: dict[str, Any] = {}

    class FakeRunner:
        def __init__(self, **settings: Any) -> None:
            passed.update(settings)

        def run(self, names: Iterable[str]) -> Iterator[ClusterReport]:
            passed["names"] = tuple(names)
            passed["progress"]("basic: half way")
            yield REPORT

    monkeypatch.setattr(module, "ClusterRunner", FakeRunner)
    return CliRunner().invoke(bench, ["cluster", *args]), passed


def test_help_needs_no_extras() -> None:
    """In a process of its own, in which the extra `testing` is not installed."""
    script = "import sys; sys.modules['trustme'] = sys.modules['pytest'] = None\nfrom stowplan.cli.main import main\n"
    command = [sys.executable, "-c", f"{script}sys.exit(main())", "bench", "cluster", "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "--workload NAME" in result.stdout


def test_certificates_name_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)
    with pytest.raises(UnavailableError, match=r"trustme, which is not installed: pip install trustme$"):
        Authority(tmp_path)


def test_everything_runs_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, passed = run(monkeypatch)
    assert outcome.exit_code == 0
    assert (passed["names"], passed["peers"], passed["nodes"], passed["pods"], passed["seed"]) == (
        NAMES,
        PEERS,
        None,
        None,
        0,
    )
    assert outcome.stderr == "basic: half way\n"


def test_choices_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    args = ["--workload", "spread", "--workload", "basic", "--nodes", "20", "--pods", "30", "--peers", "ceiling"]
    _, passed = run(monkeypatch, *args)
    assert (passed["names"], passed["peers"], passed["nodes"], passed["pods"]) == (
        ("spread", "basic"),
        ("ceiling",),
        20,
        30,
    )
    _, passed = run(monkeypatch, "--peers", "none")
    assert not set(passed["peers"]) & set(PEERS)


def test_the_table_has_a_line_for_each_scheduler_and_the_bars_below(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _ = run(monkeypatch)
    lines = outcome.stdout.splitlines()
    assert lines[1].split() == ["basic", "5,000", "5,000", "stowplan", "400", "300", "2.2", "150", "-", "-", "12%"]
    assert lines[2].split() == ["kube-scheduler", "160", "3,000", "2.2", "1,300", "150", "450", "12%"]
    assert lines[3].split()[:2] == ["ceiling", "500"]
    assert len({len(line) for line in lines[:4]}) == 1
    assert lines[4:] == [
        "basic: per_second at least 2 of kube-scheduler's: 2.500, met",
        "basic: cpu_us_per_pod at most 0.05 of kube-scheduler's: 0.100, MISSED",
    ]


def test_json_is_a_line_for_each_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _ = run(monkeypatch, "--json")
    assert [json.loads(line)["scenario"] for line in outcome.stdout.splitlines()] == ["basic"]


@pytest.mark.parametrize("args", [["--workload", "nonsense"], ["--peers", "volcano"], ["--pods", "0"]])
def test_bad_usage_is_refused(monkeypatch: pytest.MonkeyPatch, args: list[str]) -> None:
    outcome, _ = run(monkeypatch, *args)
    assert outcome.exit_code == 2
