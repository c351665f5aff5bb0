from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stowplan.cli.main import cli
from stowplan.cli.scenario import EXAMPLE
from stowplan.errors import InputError
from stowplan.study import RunResult

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKED = (
    "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, "
    "resources: [{name: cpu, weight: 1}]}}}]}]\n"
)


def call(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.replace("until: {time: 1d}", "until: {time: 2h}").partition("expect:")[0]
    (tmp_path / "s.yaml").write_text(text)
    (tmp_path / "a.yaml").write_text(CONFIG)
    (tmp_path / "b.yaml").write_text(CONFIG + PACKED)
    return tmp_path


def test_the_first_scenario_is_valid_and_is_not_overwritten(folder: Path) -> None:
    assert call("scenario", "init", "first.yaml").exit_code == 0
    assert (folder / "first.yaml").read_text() == EXAMPLE == call("scenario", "init").stdout
    assert call("scenario", "check", "first.yaml").stdout == "first.yaml: valid (20 nodes, 2 workloads)\n"
    again = call("scenario", "init", "first.yaml")
    assert (again.exit_code, again.stderr) == (2, "stowplan: first.yaml: File exists\n")


def test_faults_are_one_line_each(folder: Path) -> None:
    (folder / "bad.yaml").write_text(EXAMPLE.replace("seed: 1", "sede: 1").replace("wait.p95", "wait.p9x"))
    found = call("scenario", "check", "bad.yaml", "none.yaml")
    assert found.exit_code == 2
    assert found.stderr.splitlines()[0] == 'stowplan: bad.yaml: $.sede: unknown field (did you mean "seed"?)'
    assert found.stderr.splitlines()[-1] == "stowplan: none.yaml: No such file or directory"
    assert call("simulate", "-f", "bad.yaml").exit_code == 2


@pytest.mark.parametrize("command", [("scenario", "check"), ("compare",), ("sweep",)])
def test_an_empty_file_is_called_what_it_should_be(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "empty.yaml").write_text("# nothing\n")
    found = call(*command, "empty.yaml")
    noun = "study" if command == ("sweep",) else "scenario"
    assert (found.exit_code, found.stderr) == (2, f"stowplan: empty.yaml: empty, there is no {noun} in it\n")


def test_check_reads_the_beginning_of_a_trace(folder: Path) -> None:
    workload = "workloads: [{name: jobs, trace: {loader: helios, path: jobs}}]\n"
    (folder / "s.yaml").write_text(EXAMPLE.partition("workloads:")[0].replace("count: 20", "count: 1") + workload)
    found = call("scenario", "check", "s.yaml")
    assert (found.exit_code, found.stderr) == (2, "stowplan: jobs: no such file or folder\n")
    (folder / "jobs").mkdir()
    columns = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time"
    (folder / "jobs" / "cluster_log.csv").write_text(f"{columns}\n")
    found = call("scenario", "check", "s.yaml")
    assert (found.exit_code, found.stderr) == (2, "stowplan: jobs/cluster_log.csv: missing columns: duration\n")
    (folder / "jobs" / "cluster_log.csv").write_text(f"{columns},start_time,duration\n")
    assert call("scenario", "check", "s.yaml").stdout == "s.yaml: valid (1 node, 1 workload)\n"


def test_show_prints_the_offered_load_and_first_arrivals(folder: Path) -> None:
    lines = call("scenario", "show", "s.yaml", "--events", "3").stdout.splitlines()
    assert lines[0].split() == ["RESOURCE", "OFFERED", "LOAD"]
    assert lines[1].split()[0] == "cpu"
    assert lines[5].split() == ["0s", "web:", "20", "replicas"]
    (folder / "s.yaml").write_text((folder / "s.yaml").read_text().replace("30/h", "300/h"))
    assert "more than the nodes have" in call("scenario", "show", "s.yaml").stdout


def test_a_scenario_is_run_by_simulate(folder: Path) -> None:
    found = call("simulate", "-f", "s.yaml", "--seed", "5", "--out", "results")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.startswith("first-scenario, seed 5: 2h00m simulated, run ")
    assert json.loads((folder / "results" / "run.json").read_text())["seed"] == 5
    assert json.loads(call("simulate", "-f", "s.yaml", "-o", "json").stdout)["seed"] == 1
    assert "<svg" in call("simulate", "-f", "s.yaml", "-o", "html").stdout


def test_an_expectation_that_does_not_hold_is_exit_status_5(folder: Path) -> None:
    text = (folder / "s.yaml").read_text()
    (folder / "s.yaml").write_text(text + "expect:\n- {metric: nodes, below: 5}\n- {metric: nodes, above: 5}\n")
    found = call("simulate", "-f", "s.yaml")
    assert found.exit_code == 5
    assert found.stdout.splitlines()[-2:] == [
        "FAILED  nodes below 5: found 20",
        "ok      nodes above 5: found 20",
    ]
    assert 'tests="2" failures="1"' in call("simulate", "-f", "s.yaml", "-o", "junit").stdout


def test_options_of_a_scenario_need_one(folder: Path) -> None:
    (folder / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    assert "needs a FILE of kind Scenario" in call("simulate", "-f", "pod.yaml", "--out", "x").output
    assert "needs a FILE of kind Scenario" in call("simulate", "-f", "pod.yaml", "-o", "junit").output


def test_options_that_a_scenario_does_not_have_are_refused(folder: Path) -> None:
    for options in (("--from-cluster",), ("--watch",), ("--emulated-version", "1.34"), ("--by", "zone")):
        found = call("simulate", "-f", "s.yaml", *options)
        assert (found.exit_code, f"{options[0]} cannot be used with a Scenario." in found.output) == (2, True)


def test_a_scenario_beside_other_files_is_refused(folder: Path) -> None:
    (folder / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    found = call("simulate", "-f", "s.yaml", "-f", "pod.yaml")
    assert (found.exit_code, "A Scenario is the only FILE" in found.output) == (2, True)


def test_a_scenario_is_read_from_standard_input(folder: Path) -> None:
    command = [sys.executable, "-m", "stowplan", "simulate", "-"]
    found = subprocess.run(
        command, input=(folder / "s.yaml").read_bytes(), capture_output=True, timeout=60, check=False
    )
    assert found.stdout.decode() == call("simulate", "-f", "s.yaml").stdout
    wrong = subprocess.run(
        command, input=(folder / "s.yaml").read_bytes() + b"x: 1\n", capture_output=True, timeout=60, check=False
    )
    assert (wrong.returncode, wrong.stderr) == (2, b"stowplan: <stdin>: $.x: unknown field\n")


@pytest.mark.parametrize(
    ("seeds", "problem"),
    [
        ("0", "from 1 to 10,000 seeds can be compared"),
        ("1-99999999999", "from 1 to 10,000 seeds can be compared"),
        ("7-3", "from 1 to 10,000 seeds can be compared"),
        ("1,1", "seeds must differ"),
        ("x", "expected a number, or seeds such as 1,2,7-9"),
    ],
)
def test_seeds_that_cannot_be_compared_are_one_line(folder: Path, seeds: str, problem: str) -> None:
    found = call("compare", "s.yaml", "--config", "a=a.yaml", "--config", "b=b.yaml", "--seeds", seeds)
    assert (found.exit_code, found.stderr) == (2, f"stowplan: --seeds {seeds}: {problem}\n")


def test_compare(folder: Path) -> None:
    both = ("--config", "a=a.yaml", "--config", "b=b.yaml")
    found = call(
        "compare", "s.yaml", "--config", "a=a.yaml", "--config", "b=b.yaml", "--seeds", "1-2", "--first-difference"
    )
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines()[0].split()[:3] == ["METRIC", "a", "b"]
    assert "pods are placed elsewhere; first at " in found.stdout
    assert "NodeResourcesFit" in found.stdout
    same = call("compare", "s.yaml", "--config", "a=a.yaml", "--config", "b=default", "--seeds", "1")
    assert "b: 0.0% of" in same.stdout
    failing = ("--seeds", "2", "--metric", "imbalance.cpu", "--fail-if", "imbalance.cpu worse 1%")
    assert call("compare", "s.yaml", *both, *failing).exit_code == 5


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("--config", "a=a.yaml"), "At least two configurations are needed"),
        (("--config", "a.yaml"), "expected NAME=FILE"),
        (("--config", "a=a.yaml", "--config", "b=none.yaml"), "none.yaml: No such file or directory"),
        (("--config", "a=a.yaml", "--config", "b=b.yaml", "--seeds", "x"), "expected a number, or seeds such as"),
        (("--config", "a=a.yaml", "--config", "b=b.yaml", "--fail-if", "x"), "expected METRIC worse PERCENT"),
    ],
)
def test_unusable_comparisons(folder: Path, args: tuple[str, ...], line: str) -> None:
    found = call("compare", "s.yaml", *args)
    assert found.exit_code == 2
    assert line in found.stderr


@pytest.mark.parametrize(
    ("option", "line"),
    [
        (("--metric", "wait.p955"), '--metric: unknown metric wait.p955 (did you mean "wait.p95"?)'),
        (("--fail-if", "wait.p955 worse 5%"),
         '--fail-if: unknown metric wait.p955 (did you mean "wait.p95"?)'),
        (("--metric", "wait.p95 workload=webb"),
         '--metric: unknown metric wait.p95 workload=webb: no workload is named "webb"'),
        (("--baseline", "c"), "--baseline c: no such configuration; there are a, b"),
    ],
)  # fmt: skip
def test_comparisons_of_something_unknown_are_refused_before_the_first_run(
    folder: Path, option: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_run(*_: object) -> RunResult:
        raise AssertionError("a run was begun")

    monkeypatch.setattr("stowplan.study.run", no_run)
    found = call("compare", "s.yaml", "--config", "a=a.yaml", "--config", "b=b.yaml", *option)
    assert found.exit_code == 2, found.exception
    assert found.stderr.startswith(f"stowplan: {line}")
    assert found.stderr.count("\n") == 1


def test_a_scenario_runs_as_with_simulate(folder: Path) -> None:
    found = call("scenario", "run", "s.yaml", "--seed", "3", "--config", "b.yaml", "-o", "json", "--out", "r")
    simulated = call("simulate", "-f", "s.yaml", "--seed", "3", "--config", "b.yaml", "-o", "json")
    assert (found.exit_code, found.stdout) == (simulated.exit_code, simulated.stdout)
    assert json.loads(found.stdout)["seed"] == 3
    assert (folder / "r" / "run.json").exists()
    assert call("scenario", "run", "none.yaml").stderr == "stowplan: none.yaml: No such file or directory\n"


def test_a_first_scenario_that_cannot_be_written_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "full.yaml").symlink_to("/dev/full")
    opened = Path.open

    def on_a_full_disk(self: Path, mode: str = "r", **options: Any) -> Any:
        return opened(self, "w" if mode == "x" else mode, **options)

    monkeypatch.setattr(Path, "open", on_a_full_disk)
    found = call("scenario", "init", "full.yaml")
    assert (found.exit_code, found.stderr) == (2, "stowplan: full.yaml: No space left on device\n")
    assert not (folder / "full.yaml").is_symlink()


def test_the_metrics_are_printed_if_the_tables_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(result: RunResult, out: str) -> None:
        raise InputError(f"{out}: No space left on device; the results there are not complete")

    monkeypatch.setattr(RunResult, "save", full)
    found = call("simulate", "-f", "s.yaml", "--out", "r")
    assert (found.exit_code, found.stderr) == (
        2,
        "stowplan: r: No space left on device; the results there are not complete\n",
    )
    assert "utilisation.cpu" in found.stdout


def test_a_folder_for_results_is_made_before_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_run(*_: object) -> RunResult:
        raise AssertionError("a run was begun")

    monkeypatch.setattr("stowplan.study.run", no_run)
    for out, problem in (("s.yaml", "not a folder"), ("s.yaml/r", "Not a directory")):
        found = call("scenario", "run", "s.yaml", "--out", out)
        assert (found.exit_code, found.stderr) == (2, f"stowplan: {out}: {problem}\n"), found.exception
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    assert call("scenario", "run", "s.yaml", "--out", "r").stderr == "stowplan: r: Permission denied\n"


def test_charts_of_a_run(folder: Path) -> None:
    use, queue = folder / "use.svg", folder / "r" / "a=b.svg"
    found = call("scenario", "run", "s.yaml", "--out", "r", "--plot", f"utilisation.cpu={use}", "--plot",
                 f"pending={queue.relative_to(folder)}")  # fmt: skip
    assert found.exit_code == 0, found.stderr
    assert "utilisation.cpu" in found.stdout
    assert use.read_text().startswith("<svg")
    assert "pending</text>" in queue.read_text()
    pytest.importorskip("resvg_py")
    assert call("scenario", "run", "s.yaml", "--plot", "imbalance.cpu=i.png").exit_code == 0
    assert (folder / "i.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("plot", "problem"),
    [
        ("utilisation.cpuu=use.svg", '--plot: no series utilisation.cpuu (did you mean "utilisation.cpu"?)'),
        ("utilisation.nvidia.com/gpu=use.svg", "--plot: no series utilisation.nvidia.com/gpu"),
        ("utilisation.cpu=use.gif", "use.gif: the name of a plot ends in .svg or .png"),
        ("utilisation.cpu=none/use.svg", "none/use.svg: No such file or directory"),
        ("utilisation.cpu", "--plot utilisation.cpu: expected METRIC=FILE."),
        ("=use.svg", "--plot =use.svg: expected METRIC=FILE."),
    ],
)
def test_charts_that_cannot_be_made_are_refused_before_the_run(
    folder: Path, plot: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_run(*_: object) -> RunResult:
        raise AssertionError("a run was begun")

    monkeypatch.setattr("stowplan.study.run", no_run)
    found = call("scenario", "run", "s.yaml", "--plot", plot)
    assert found.exit_code == 2, found.exception
    assert problem in found.stderr


@pytest.mark.parametrize("indent", [None, 1])
def test_a_scenario_in_json_is_recognised(folder: Path, indent: int | None) -> None:
    document = yaml.safe_load((folder / "s.yaml").read_text())
    (folder / "s.json").write_text(json.dumps(dict(reversed(document.items())), indent=indent))
    found = call("simulate", "-f", "s.json")
    assert (found.exit_code, found.stdout) == (0, call("simulate", "-f", "s.yaml").stdout)
