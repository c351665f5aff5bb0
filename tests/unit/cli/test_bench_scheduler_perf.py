import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.bench.scheduler_perf.small_suite import write_suite

from stowplan.bench.scheduler_perf import PerfReport, PerfTurn, PerfWorkload
from stowplan.cli import bench_scheduler_perf as module
from stowplan.cli.bench import bench
from stowplan.errors import InputError


def turn(per_second: float, cpu: float, **more: Any) -> PerfTurn:
    return PerfTurn(
        throughput=per_second,
        per_second=per_second,
        pods=1000,
        seconds=1000 / per_second,
        cpu_us_per_pod=cpu,
        rss_mib=100,
        others_cpu_share=0.01,
        unschedulable_attempts=3,
        **more,
    )


REPORT = PerfReport(
    scenario="Basic/2Nodes",
    threshold=20,
    load=0.5,
    turns={"kube-scheduler": turn(100, 4000), "stowplan": turn(250, 400)},
)


class FakeRunner:
    def __init__(self, **settings: Any) -> None:
        pass

    def run(self, workloads: Iterable[PerfWorkload]) -> Iterator[PerfReport]:
        for workload in workloads:
            yield PerfReport(scenario=workload.name, obstacle=workload.obstacle) if workload.obstacle else REPORT


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(module, "PerfRunner", FakeRunner)
    return str(write_suite(tmp_path))


def run(suite: str, *args: str) -> str:
    result = CliRunner().invoke(bench, ["scheduler-perf", "--suite", suite, *args])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_names_obstacles(suite: str) -> None:
    lines = run(suite, "--list").splitlines()
    assert any(line.startswith("Basic/Hook") and "hook" in line for line in lines)


def test_table(suite: str) -> None:
    text = run(suite, "--workload", "Basic/2Nodes", "--workload", "Basic/Locked")
    assert "of kube-scheduler's: per_second 2.50, cpu_us_per_pod 0.10" in text
    assert "Basic/Locked: not run: cannot set feature gate" in text


def test_json(suite: str) -> None:
    first, second = map(
        json.loads, run(suite, "--workload", "Basic/2Nodes", "--workload", "Basic/Hook", "--json").splitlines()
    )
    assert first["ratios"]["throughput"] == 2.5
    assert first["turns"]["stowplan"]["pods"] == 1000
    assert "hook" in second["obstacle"]


def test_results_in_the_output_file_are_not_measured_again(suite: str, tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    names = ("--workload", "Basic/2Nodes", "--workload", "Basic/Hook", "--output", str(output))
    run(suite, *names)
    first = output.read_text()
    assert [json.loads(line)["scenario"] for line in first.splitlines()] == ["Basic/2Nodes", "Basic/Hook"]
    assert json.loads(first.splitlines()[0])["load"] == 0.5
    assert "Basic/Hook" not in run(suite, *names)
    assert output.read_text() == first
    run(suite, "--workload", "Basic/Locked", "--output", str(output))
    assert len(output.read_text().splitlines()) == 3


def test_an_output_file_of_something_else_is_an_error(suite: str, tmp_path: Path) -> None:
    output = tmp_path / "notes.txt"
    output.write_text("notes\n")
    result = CliRunner().invoke(bench, ["scheduler-perf", "--suite", suite, "--output", str(output)])
    assert isinstance(result.exception, InputError)
    assert output.read_text() == "notes\n"


def test_workloads_that_take_too_long_are_left_out(suite: str) -> None:
    (line,) = [line for line in run(suite, "--list").splitlines() if line.startswith("Basic/2Nodes")]
    assert line.split()[1] == "15"
    assert not run(suite, "--list", "--max-seconds", "5").strip()
