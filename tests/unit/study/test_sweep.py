"""Sweeps: the same results on every executor, nothing lost and nothing repeated, clear errors."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stowplan.cli.main import cli
from stowplan.errors import InputError, StowplanError
from stowplan.study.sweep import RayExecutor, dask_executor, load_study, process_executor, read_study, sweep
from stowplan.study.sweep.executors import BatchExecutor
from stowplan.study.sweep.pareto_plot import pareto_svg
from stowplan.study.sweep.paths import set_path
from stowplan.study.sweep.run_task import execute_batch
from stowplan.study.sweep.search import search
from stowplan.study.sweep.sweep import TaskMaker

HEAD = {"apiVersion": "simulation.stowplan/v1alpha1", "kind": "Study"}
SCENARIO = """
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
seed: 5
until: {time: 30m}
nodes:
  pools:
  - name: general
    count: 2
    price: 1.0
    template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
workloads:
- name: batch
  template:
    apiVersion: v1
    kind: Pod
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}
  arrivals: {poisson: {rate: 60/h}}
  duration: 600s
"""
RUNNER = "tests.unit.study.test_sweep:quadratic"


def quadratic(parameters: dict[str, Any]) -> dict[str, float]:
    """A runner: notes that it ran, and fails on request."""
    folder = parameters.get("notes")
    if folder:
        (Path(folder) / f"{parameters['x']}-{parameters['seed']}-{time.monotonic_ns()}").touch()
        time.sleep(parameters.get("seconds", 0))
    if parameters["x"] == parameters.get("bad"):
        raise ValueError("no such x")
    return {"near": (parameters["x"] - 3) ** 2 + parameters["seed"] / 100, "far": -parameters["x"]}


def process_id(parameters: dict[str, Any]) -> dict[str, float]:
    """A runner: notes that it ran, and where."""
    (Path(parameters["notes"]) / f"{parameters['seed']}-{time.monotonic_ns()}").touch()
    time.sleep(0.05)
    return {"process": os.getpid()}


def killed(parameters: dict[str, Any]) -> dict[str, float]:
    """A runner whose process is killed at seed 3, as for lack of memory."""
    if parameters["seed"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"near": 1.0}


def study(**fields: Any) -> Any:
    spec = {**HEAD, "runner": RUNNER, "parameters": {"x": 0}, "seeds": 2, "minimise": ["near", "far"], **fields}
    return read_study(json.dumps({"vary": {"x": [0, 1, 3, 5]}, **spec}).encode())


@contextmanager
def ray_executor() -> Iterator[Executor]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield RayExecutor()
    finally:
        ray.shutdown()


@contextmanager
def dask_here(jobs: int = 2) -> Iterator[Executor]:
    pytest.importorskip("distributed")
    with dask_executor(jobs=jobs) as executor:
        yield executor


@pytest.fixture
def scenario_study(tmp_path: Path) -> Path:
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    vary = {
        "config.profiles[0].plugins.score.NodeResourcesFit.weight": [1, 30],
        "nodes.pools.general.count": [2, 4],
    }
    path = tmp_path / "study.yaml"
    text = {**HEAD, "scenario": "scenario.yaml", "seeds": 2, "vary": vary, "minimise": ["wait.p95", "cost"]}
    path.write_text(yaml.safe_dump(text))
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", [lambda: process_executor(2), dask_here, ray_executor], ids=["2", "dask", "ray"])
def test_results_do_not_depend_on_the_executor(scenario_study: Path, where: Any, tmp_path: Path) -> None:
    given = load_study(str(scenario_study))
    alone = sweep(given, tmp_path / "one")
    executor: AbstractContextManager[Executor] = where()
    with executor as made:
        together = sweep(given, tmp_path / "two", made)
    assert together.document() == alone.document()
    assert not alone.failed
    assert len(alone.rows) == 8
    costs = [each.means["cost"] for each in alone.by_variation()]
    assert costs == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize("threads", [0, 1])
def test_processes_share_the_runs_and_execute_none_twice(threads: int, tmp_path: Path) -> None:
    """With one thread the processes are forked, which saves their imports; with others they are spawned."""
    notes = tmp_path / "notes"
    notes.mkdir()
    parameters = {"notes": str(notes)}
    text = {**HEAD, "runner": f"{__name__}:process_id", "parameters": parameters, "seeds": 40}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(text))
    done = subprocess.run(
        [sys.executable, "-c", POOL_SCRIPT, str(tmp_path), str(threads)], capture_output=True, env=_environment()
    )
    assert done.returncode == 0, done.stderr
    method, caller, *processes = json.loads(done.stdout)
    assert method == ("spawn" if threads else "fork")
    assert len(set(processes)) == 2
    assert caller not in processes
    assert len(processes) == len(list(notes.iterdir())) == 40


def test_batches_are_small_at_the_end_and_finished_tasks_of_a_batch_are_not_repeated(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    given = study(parameters={"notes": str(notes)}, vary={"x": [1]}, seeds=40)
    with process_executor(1) as executor:
        batches = BatchExecutor(executor, 2)
        assert [batches.batch_size(waiting) for waiting in (100, 32, 31, 16, 15, 1)] == [4, 4, 3, 2, 1, 1]
        assert BatchExecutor(executor, 0).batch_size(1000) == 1
        rows = list(sweep(given, tmp_path / "out", batches).rows)
        assert [row.seed for row in rows] == list(range(40))
        assert len(list(notes.iterdir())) == 40
    task = TaskMaker(given).tasks()[0]
    assert execute_batch([task], str(tmp_path / "out")) == [rows[0]]
    assert len(list(notes.iterdir())) == 40


def test_numbers_of_the_table_have_no_exponents(tmp_path: Path) -> None:
    found = sweep(study(vary={"x": [-1200, 3]}, minimise=["near"]), tmp_path)
    assert [row[-1] for row in found.table()[1:]] == ["1,447,209 ±0.0071", "0.005 ±0.0071"]
    assert sweep(study(vary={"x": [0]}, seeds=[0, 30000]), tmp_path).table()[1][-2] == "159 ±212"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", [lambda: process_executor(1), lambda: dask_here(1)], ids=["processes", "dask"])
def test_a_killed_worker_ends_the_sweep_with_one_line(where: Any, tmp_path: Path) -> None:
    given = study(runner=f"{__name__}:killed", parameters={}, vary={}, seeds=5)
    with pytest.raises(StowplanError, match="a worker process was killed"), where() as executor:
        sweep(given, tmp_path, executor)
    assert len(list(tmp_path.glob("*.json"))) == 3


POOL_SCRIPT = """
import json, os, sys, threading
from pathlib import Path
from stowplan.study.sweep import load_study, process_executor, sweep
from stowplan.study.sweep.executors import start_method

if __name__ == "__main__":
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    done = threading.Event()
    for _ in range(threads):
        threading.Thread(target=done.wait).start()
    method = start_method()
    with process_executor(2) as executor:
        rows = sweep(load_study(str(folder / "study.yaml")), folder / "out", executor).rows
    done.set()
    print(json.dumps([method, os.getpid(), *(row.metrics["process"] for row in rows)]))
"""


def test_a_weight_reaches_the_profile(scenario_study: Path, tmp_path: Path) -> None:
    from stowplan.study.sweep.sweep import TaskMaker

    tasks = TaskMaker(load_study(str(scenario_study))).tasks()
    (profile,) = tasks[-1].parameters["config"]["profiles"]
    assert profile["plugins"]["score"]["enabled"] == [{"name": "NodeResourcesFit", "weight": 30}]
    assert [task.seed for task in tasks[:2]] == [5, 6]
    (scenario_study.parent / "scenario.yaml").write_text(SCENARIO.replace("600s", "601s"))
    changed = TaskMaker(load_study(str(scenario_study))).tasks()
    assert not {task.name for task in tasks} & {task.name for task in changed}


def test_finished_runs_are_not_repeated_and_failed_ones_are(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    parameters = {"x": 0, "notes": str(notes), "bad": 1}
    first = sweep(study(parameters=parameters), tmp_path / "out")
    assert [(row.variation["x"], row.error) for row in first.failed] == [(1, "ValueError: no such x")] * 2
    assert len(list(notes.iterdir())) == 8
    again = sweep(study(parameters=parameters), tmp_path / "out")
    assert again.document() == first.document()
    assert len(list(notes.iterdir())) == 10
    (tmp_path / "out" / f"{first.rows[0].name}.json").write_text('{"name": ')
    sweep(study(parameters=parameters), tmp_path / "out")
    assert len(list(notes.iterdir())) == 13


def not_a_number(parameters: dict[str, Any]) -> dict[str, float]:
    """A runner: notes that it ran; one metric has no value."""
    (Path(parameters["notes"]) / f"{time.monotonic_ns()}").touch()
    return {"near": 1.0, "mean": float("nan"), "rate": float("inf")}


def test_a_metric_without_a_value_is_left_out_and_its_run_is_not_repeated(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    given = study(runner=f"{__name__}:not_a_number", parameters={"notes": str(notes)}, vary={}, minimise=["near"])
    found = [sweep(given, tmp_path / "out") for _ in range(2)]
    assert found[0].rows[0].metrics == {"near": 1.0}
    assert found[0].document() == found[1].document()
    assert len(list(notes.iterdir())) == 2


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    """Every run with a result ran once; runs that were under way when the sweep was killed run again."""
    notes, out = tmp_path / "notes", tmp_path / "out"
    notes.mkdir()
    parameters = {"x": 0, "notes": str(notes), "seconds": 0.05}
    text = {**HEAD, "runner": RUNNER, "parameters": parameters, "seeds": 5, "vary": {"x": list(range(8))}}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(text))
    command = [sys.executable, "-m", "stowplan", "sweep", str(tmp_path / "study.yaml"), f"--out={out}", "--jobs=2"]
    process = subprocess.Popen(command, start_new_session=True, env={**_environment()})
    deadline = time.monotonic() + 60
    while len(list(out.glob("[0-9a-f]*.json"))) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    _kill_session(process)
    finished = {path.stem for path in out.glob("[0-9a-f]*.json")}
    assert 6 <= len(finished) < 40
    ran_before = len(list(notes.iterdir()))
    done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((out / "sweep.json").read_text())["runs"]
    assert len(results) == len({run["name"] for run in results}) == 40
    assert finished <= {run["name"] for run in results}
    ran_after = len(list(notes.iterdir())) - ran_before
    assert ran_after == 40 - len(finished)
    assert 0 <= ran_before - len(finished) <= 2


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_front_table_and_plot(tmp_path: Path) -> None:
    results = sweep(study(), tmp_path)
    front = {each.variation.values["x"]: each.on_front for each in results.by_variation()}
    assert front == {0: False, 1: False, 3: True, 5: True}
    heading, *rows = results.table()
    assert heading == ("", "variation", "seeds", "near", "far")
    assert rows[2] == ("*", "x=3", "2", "0.005 ±0.0071", "-3 ±0")
    svg = pareto_svg(results)
    assert svg.count("<circle") == 4
    assert re.findall('y="374" text-anchor="middle">(.*?)<', svg) == ["0", "2", "4", "6", "8"]
    equal = pareto_svg(sweep(study(vary={"x": [3, 5], "y": [1, 2]}), tmp_path))
    assert equal.count("<circle") == 4
    assert re.findall('text-anchor="([a-z]*)" fill="#333">(.*)</text>', equal) == [
        ("start", "x=3, y=1 and 1 more"),
        ("end", "x=5, y=1 and 1 more"),
    ]
    assert re.findall('stroke="#fff" .*>(.*)</text>', svg) == ["x=3", "x=5"]
    assert "<script" not in svg
    with pytest.raises(InputError, match="needs two metrics"):
        pareto_svg(sweep(study(minimise=["near"]), tmp_path))
    with pytest.raises(StowplanError, match=r"study: \$.minimise\[0\]: no run has the metric further$"):
        sweep(study(minimise=["further"]), tmp_path).by_variation()


def test_random_search_takes_some_combinations_without_repetition() -> None:
    given = study(vary={"x": [1, 2, 3], "y.z": [1, 2, 3]}, search={"random": 5})
    found = [tuple(each.values.values()) for each in given.variations()]
    assert len(set(found)) == 5
    assert found == [tuple(each.values.values()) for each in given.variations()]


@pytest.mark.filterwarnings("ignore")
def test_optuna_finds_the_best_and_is_resumable(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    given = study(search={"optuna": 12}, minimise=["near"], vary={"x": list(range(7))})
    results = search(given, tmp_path)
    best = min(results.by_variation(), key=lambda each: each.means["near"])
    assert best.variation.values["x"] == 3
    assert search(given, tmp_path).document() == results.document()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"seeds": 0}, "$.seeds: at least one seed is needed"),
        ({"vary": {"x": []}}, "$.vary.x: no values"),
        ({"kind": "Studie"}, "$.kind: Unsupported value"),
        ({"scenario": "s.yaml"}, "$.scenario: Required value: a scenario, or a runner"),
        ({"varry": {}}, 'unknown field (did you mean "vary"?)'),
        ({"search": {"optuna": 3}, "minimise": []}, "optuna needs a metric"),
        ({"search": {"randm": 3}}, "$.search: expected grid, {random: N} or {optuna: N}"),
        ({"search": {"random": 0}}, "$.search: expected grid, {random: N} or {optuna: N}"),
        ({"search": {"random": 3, "optuna": 3}}, "$.search: expected grid, {random: N} or {optuna: N}"),
        ({"search": "all"}, "$.search: expected grid, {random: N} or {optuna: N}"),
    ],
)
def test_bad_studies(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(StowplanError) as found:
        study(**fields)
    assert problem in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("runner", "problem"),
    [
        ("tests.nothing:there", "No module named 'tests.nothing'"),
        ("tests.unit.study.test_sweep:there", "has no attribute 'there'"),
        ("tests", "expected package.module:function"),
    ],
)
def test_bad_runners_are_rows(runner: str, problem: str, tmp_path: Path) -> None:
    results = sweep(study(runner=runner), tmp_path)
    assert len(results.failed) == 8
    assert problem in results.failed[0].error


def test_paths() -> None:
    document: dict[str, Any] = {"a": [{"name": "x", "v": 1}, 2], "plugins": {}}
    set_path(document, "a.x.v", 5)
    set_path(document, "a[1]", 7)
    set_path(document, "a.y.w", 8)
    set_path(document, 'b."c.d".e', 9)
    set_path(document, "plugins.score.Fit.weight", 3)
    set_path(document, "plugins.score.disabled", [])
    assert document == {
        "a": [{"name": "x", "v": 5}, 7, {"name": "y", "w": 8}],
        "b": {"c.d": {"e": 9}},
        "plugins": {"score": {"enabled": [{"name": "Fit", "weight": 3}], "disabled": []}},
    }
    for bad in ("a[9]", "a[9].v", "a[1].v.w", ""):
        with pytest.raises(InputError):
            set_path(document, bad, 0)


def test_the_command(scenario_study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = CliRunner().invoke(cli, ["sweep", str(scenario_study), f"--out={out}", f"--plot={tmp_path / 'p.svg'}"])
    assert outcome.exit_code == 0, outcome.output
    assert "NodeResourcesFit.weight=30, general.count=4" in outcome.stdout
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    assert "DejaVu Sans" in (tmp_path / "p.svg").read_text()
    again = CliRunner().invoke(cli, ["sweep", str(scenario_study), f"--out={out}", "-o", "markdown"])
    assert again.stdout.startswith("|  | variation | seeds | wait.p95 | cost |")
    missing = CliRunner().invoke(cli, ["sweep", str(tmp_path / "none.yaml")])
    assert missing.exit_code == 2
    assert missing.stderr.endswith("none.yaml: No such file or directory\n")


def test_plots_as_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resvg_py")
    (tmp_path / "study.json").write_text(
        json.dumps({**HEAD, "runner": RUNNER, "vary": {"x": [1, 2]}, "minimise": ["near", "far"]})
    )
    command = ["sweep", str(tmp_path / "study.json"), f"--out={tmp_path / 'out'}"]
    outcome = CliRunner().invoke(cli, [*command, f"--plot={tmp_path / 'p.png'}"])
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    other = CliRunner().invoke(cli, [*command, f"--plot={tmp_path / 'p.gif'}"])
    assert other.exit_code == 2
    assert other.stderr.endswith("p.gif: the name of a plot ends in .svg or .png\n")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    without = CliRunner().invoke(cli, [*command, f"--plot={tmp_path / 'q.png'}"])
    assert without.exit_code == 2
    assert "PNG needs the extra `plots`" in without.stderr


def test_a_name_that_the_scenario_does_not_have_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    study = tmp_path / "study.yaml"
    study.write_text(json.dumps({**HEAD, "scenario": "s.yaml", "vary": {"nodes.pools.generals.count": [1]}}))
    result = CliRunner().invoke(cli, ["sweep", str(study), "--jobs", "1"])
    assert result.exit_code == 2
    text = 'nodes.pools.generals.count: no item is named "generals" (did you mean "general"?)'
    assert result.stderr == f"stowplan: {study}: $.vary.{text}\n"


def test_an_invalid_configuration_is_one_line_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    config = tmp_path / "config.yaml"
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config.write_text(json.dumps(kind))
    study, field = tmp_path / "study.yaml", "config.profiles[0].percentageOfNodesToScor"
    study.write_text(json.dumps({**HEAD, "scenario": "s.yaml", "config": "config.yaml", "vary": {field: [5]}}))
    command = ["sweep", str(study), "--jobs", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    text = 'percentageOfNodesToScor: unknown field (did you mean "percentageOfNodesToScore"?)'
    assert result.stderr == f"stowplan: {study}: $.vary.config: $.profiles[0].{text}\n"
    config.write_text(json.dumps({**kind, "profilez": []}))
    assert CliRunner().invoke(cli, command).stderr.startswith(f"stowplan: {config}: $.profilez: unknown field")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("further", [{}, {"search": {"optuna": 2}}], ids=["grid", "optuna"])
def test_a_misspelt_metric_is_one_line_before_the_first_run(further: dict[str, Any], tmp_path: Path) -> None:
    if further:
        pytest.importorskip("optuna")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    study, out = tmp_path / "study.yaml", tmp_path / "out"
    fields = {"scenario": "s.yaml", "vary": {"seed": [1]}, "minimise": ["jct.mean"], "maximise": ["wait.p955"]}
    study.write_text(json.dumps({**HEAD, **fields, **further}))
    found = CliRunner().invoke(cli, ["sweep", str(study), "--out", str(out)])
    text = '$.maximise[0]: unknown metric wait.p955 (did you mean "wait.p95"?)'
    assert (found.exit_code, found.stderr) == (2, f"stowplan: {study}: {text}\n")
    assert not out.exists()


def test_a_misspelt_metric_of_a_function_is_found_after_one_run(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    given = study(parameters={"x": 0, "notes": str(notes), "bad": 0}, maximise=["nearr"])
    for _ in range(2):
        with pytest.raises(StowplanError) as raised:
            sweep(given, tmp_path / "out")
        text = '$.maximise[0]: the first run has no metric nearr (did you mean "near"?)'
        assert str(raised.value) == f"study: {text}"
    assert len(list(notes.glob("1-*"))) == 1
    assert len(list(notes.glob("[35]-*"))) == 0


def test_a_plot_of_one_metric_is_refused_before_the_first_run(tmp_path: Path) -> None:
    study, out = tmp_path / "study.json", tmp_path / "out"
    study.write_text(json.dumps({**HEAD, "runner": RUNNER, "parameters": {"x": 1}, "minimise": ["near"]}))
    found = CliRunner().invoke(cli, ["sweep", str(study), "--out", str(out), "--plot", str(tmp_path / "p.svg")])
    assert found.stderr == f"stowplan: {study}: a plot needs two metrics in minimise and maximise\n"
    assert not out.exists()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"seeds": 10**9}, "$.vary: 1,000,000,000 runs, at most 1,000,000 are possible"),
        ({"vary": {f"p{number}": [1, 2] for number in range(64)}}, "$.vary: 18,446,744,073,709,551,616 runs"),
        ({"seeds": 10**9, "search": {"random": 1}}, "$.seeds: must be at most 1,000,000"),
        ({"seeds": 10**400}, "$.seeds: expected a number of at most 1e+18"),
    ],
)
def test_sweeps_without_bounds_are_one_line(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(StowplanError) as raised:
        read_study(json.dumps({**HEAD, "runner": RUNNER, "vary": {"x": [1]}, **fields}).encode())
    assert problem in str(raised.value)


def test_results_that_cannot_be_written_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        if self.name == "sweep.json":
            self.touch()
            raise OSError(28, "No space left on device")
        return write_bytes(self, content)

    write_bytes = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", full)
    (tmp_path / "study.json").write_text(json.dumps({**HEAD, "runner": RUNNER, "parameters": {"x": 1}}))
    found = CliRunner().invoke(cli, ["sweep", str(tmp_path / "study.json"), "--out", str(tmp_path / "r")])
    place = tmp_path / "r" / "sweep.json"
    assert found.exit_code == 2
    assert found.stderr == (f"stowplan: {place}: No space left on device; the runs are complete: run the sweep again\n")
    assert not place.exists()


@pytest.mark.parametrize("further", [{}, {"search": {"optuna": 2}}], ids=["grid", "optuna"])
def test_a_folder_that_cannot_be_made_is_one_line(further: dict[str, Any], tmp_path: Path) -> None:
    if further:
        pytest.importorskip("optuna")
    fields = {"runner": RUNNER, "parameters": {"x": 1}, "vary": {"x": [1]}, "minimise": ["near"], **further}
    (tmp_path / "study.json").write_text(json.dumps({**HEAD, **fields}))
    (tmp_path / "file").touch()
    for out, problem in (("file", "not a folder"), ("file/inner", "Not a directory")):
        found = CliRunner().invoke(cli, ["sweep", str(tmp_path / "study.json"), "--out", str(tmp_path / out)])
        assert found.exit_code == 2, found.exception
        assert found.stderr.splitlines()[-1].endswith((f"stowplan: {tmp_path / out}: {problem}", "is a file."))


def test_a_folder_without_permission_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    with pytest.raises(InputError, match=f"^{tmp_path}: Permission denied$"):
        sweep(study(), tmp_path)


def test_runs_before_a_full_disk_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        if b'"seed":3' in content:
            self.touch()
            raise OSError(28, "No space left on device")
        return write_bytes(self, content)

    write_bytes = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", full)
    given = study(vary={}, seeds=5)
    text = "No space left on device; finished runs are kept: run the sweep again$"
    with pytest.raises(InputError, match=text):
        sweep(given, tmp_path)
    assert all(path.suffix == ".json" for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) >= 3
    monkeypatch.undo()
    assert len(sweep(given, tmp_path).rows) == 5


def test_results_that_are_in_the_way_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps({**HEAD, "runner": RUNNER, "parameters": {"x": 1}}))
    (tmp_path / "r" / "sweep.json").mkdir(parents=True)
    found = CliRunner().invoke(cli, ["sweep", str(tmp_path / "study.json"), "--out", str(tmp_path / "r")])
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1), found.exception
    assert "sweep.json: Is a directory; the runs are complete" in found.stderr


def test_a_plot_without_a_folder_is_refused_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(
        json.dumps({**HEAD, "runner": RUNNER, "parameters": {"x": 1}, "minimise": ["near", "far"]})
    )
    command = ["sweep", str(tmp_path / "study.json"), "--out", str(tmp_path / "out")]
    plot = tmp_path / "none" / "p.svg"
    found = CliRunner().invoke(cli, [*command, f"--plot={plot}"])
    assert found.stderr == f"stowplan: {plot}: No such file or directory\n"
    assert not (tmp_path / "out").exists()
    assert CliRunner().invoke(cli, [*command, f"--plot={tmp_path / 'out' / 'p.svg'}"]).exit_code == 0


HEARTBEATS_SCRIPT = """
import time
from stowplan.study.sweep import dask_executor

if __name__ == "__main__":
    import distributed.scheduler

    distributed.scheduler.heartbeat_interval = lambda workers: 0.0005
    with dask_executor(jobs=2) as executor:
        for future in [executor.submit(time.sleep, 0.01) for _ in range(60)]:
            future.result()
"""


@contextmanager
def port_of_dask_in_use() -> Iterator[None]:
    """Dask's port for its page."""
    with socket.socket() as other:
        with suppress(OSError):  # In use already.
            other.bind(("127.0.0.1", 8787))
            other.listen()
        yield


def test_a_local_dask_cluster_ends_in_silence_and_needs_no_port() -> None:
    """Also if a heartbeat is under way at the end, and beside another cluster."""
    pytest.importorskip("distributed")
    with port_of_dask_in_use():
        command = [sys.executable, "-c", HEARTBEATS_SCRIPT]
        found = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment(), timeout=60)
    assert found.stderr == ""


def test_workers_of_a_local_dask_cluster_print_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "study.json").write_text(json.dumps({**HEAD, "runner": RUNNER, "parameters": {"x": 1}, "seeds": 4}))
    found = subprocess.run(
        [sys.executable, "-m", "stowplan", "sweep", str(tmp_path / "study.json"), "--jobs", "2", "--dask", "local"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
    )
    assert found.stderr == ""
    assert "seeds" in found.stdout
