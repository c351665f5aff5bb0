"""The files that determine a run of a sweep: beside which document they are, and which runs a changed one repeats."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.study.test_sweep import HEAD, SCENARIO

from stowplan.cli.main import cli
from stowplan.study.sweep import load_study, read_study
from stowplan.study.sweep.sweep import TaskMaker

SWF = "1 0 0 60 1 -1 -1 1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
LOADER = """
from stowplan.traces import Arrival, TraceLoader

class Own(TraceLoader):
    def arrivals(self):
        yield Arrival(0.0, "a", "a", {"cpu": 1000}, 60.0)
"""
FILTER = """
from stowplan import Plugin, reject

class {name}(Plugin):
    def filter(self, state, pod, node):
        return reject("closed") if node.name == "general-{number}" else None
"""


def test_plugins_of_the_scenario_and_of_the_study_are_beside_them(tmp_path: Path) -> None:
    """Both are files in the folders of the documents that name them, wherever the command runs."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "scenario.yaml").write_text(SCENARIO + "plugins: [./first.py]\n")
    (tmp_path / "inner" / "first.py").write_text(FILTER.format(name="First", number=1))
    (tmp_path / "second.py").write_text(FILTER.format(name="Second", number=2))
    vary = {"plugins": [[], ["./second.py:Second"]]}
    document = {**HEAD, "scenario": "inner/scenario.yaml", "vary": vary, "minimise": ["nodes.used"]}
    (tmp_path / "study.yaml").write_text(json.dumps(document))
    found = CliRunner().invoke(cli, ["sweep", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "r"), "-o", "json"])
    assert found.exit_code == 0, found.stderr
    runs = json.loads(found.stdout)["runs"]
    assert runs[0]["metrics"]["nodes.used"] == pytest.approx(1, abs=0.1)
    assert runs[1]["metrics"]["nodes.used"] == 0


@pytest.mark.parametrize(
    ("fields", "file", "first", "second"),
    [
        ({"arrivals": {"file": "data.csv"}}, "data.csv", "time\n0\n9\n", "time\n0\n9\n20\n"),
        ({"arrivals": {"at": [0, 9]}, "duration": {"empirical": {"file": "data.csv", "column": "s"}}}, "data.csv",
         "s\n5\n", "s\n7\n"),
        ({"trace": {"loader": "swf", "path": "traces"}}, "traces/a.swf", SWF, SWF.replace("60", "70")),
        ({"trace": {"loader": "own.py", "path": "own.py"}}, "own.py", LOADER, LOADER + "#\n"),
    ],
    ids=["arrivals", "durations", "trace", "loader"],
)  # fmt: skip
def test_a_changed_file_repeats_the_runs_that_it_determines(
    fields: dict[str, Any], file: str, first: str, second: str, tmp_path: Path
) -> None:
    document = yaml.safe_load(SCENARIO)
    (workload,) = document["workloads"]
    document["workloads"] = [{"name": "batch", **fields} if "trace" in fields else {**workload, **fields}]
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / "study.yaml").write_text(json.dumps({**HEAD, "scenario": "scenario.yaml", "minimise": ["jobs"]}))
    (tmp_path / file).parent.mkdir(exist_ok=True)
    names = []
    for text in (first, first, second):
        (tmp_path / file).write_text(text)
        names.append([task.name for task in TaskMaker(load_study(str(tmp_path / "study.yaml"))).tasks()])
        (tmp_path / file).with_name("front.svg").write_text(text)
    assert names[0] == names[1] != names[2]


def test_a_changed_runner_repeats_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []
    for number in (1, 1, 2):
        (tmp_path / "own_runner.py").write_text(f"def run(parameters):\n    return {{'x': {number}}}\n")
        given = read_study(json.dumps({**HEAD, "runner": "own_runner:run", "minimise": ["x"]}).encode())
        names.append([task.name for task in TaskMaker(given).tasks()])
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize("part", ["plugin", "scenario's plugin", "loader", "package", "installed", "runner"])
def test_a_changed_module_repeats_the_runs_that_it_determines(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plugins, loaders and functions in modules count as those in files do; of a package, all of its modules."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = "own_" + part.replace(" ", "_").replace("'", "")
    module, file = tmp_path / name, "inner.py" if part == "package" else "rules.py"
    module.mkdir()
    (module / "__init__.py").touch()
    document = yaml.safe_load(SCENARIO)
    fields: dict[str, Any] = {"scenario": "scenario.yaml", "minimise": ["jobs"]}
    if part == "plugin":
        fields["plugins"] = [f"{name}.rules:Own"]
    elif part == "package":
        fields["vary"] = {"plugins": [[f"{name}:Own"]]}
    elif part == "installed":
        entry = EntryPoint("Own", f"{name}.rules:Own", "stowplan.plugins")
        monkeypatch.setattr("stowplan.study.sweep.input_files.entry_points", lambda group: [entry])
    elif part == "runner":
        fields = {"runner": f"{name}.rules:run"}
    elif part == "loader":
        (tmp_path / "trace").write_text("")
        document["workloads"] = [{"name": "batch", "trace": {"loader": f"{name}.rules:Own", "path": "trace"}}]
    else:
        document["plugins"] = [f"{name}.rules:Own"]
    names = []
    for number in (1, 1, 2):
        (module / file).write_text(LOADER + f"NUMBER = {number}\n")
        (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(document))
        given = read_study(json.dumps({**HEAD, **fields}).encode(), str(tmp_path / "study.yaml"))
        names.append([task.name for task in TaskMaker(given).tasks()])
    assert names[0] == names[1] != names[2]
