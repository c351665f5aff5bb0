"""Loaders of users, given as ./file.py:Class or package.module:Class."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from stowplan.cli.main import cli
from stowplan.errors import InputError, PluginBugError
from stowplan.study.files import load_summary
from stowplan.traces import open_trace

LOADER = """
from stowplan.traces import Arrival, TraceLoader, TraceNode, find_file, read_rows

class Cores(TraceLoader):
    def nodes(self):
        yield TraceNode("n1", {"cpu": 8000, "memory": 2**30})

    def arrivals(self):
        for row in read_rows(find_file(self.source, "jobs.csv"), ("at", "seconds", "cores")):
            name = f"job-{row.line}"
            yield Arrival(row.number("at"), name, name, {"cpu": row.amount("cores", 1000)}, row.number("seconds"))
"""
SCENARIO = """
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
metadata: {name: own}
until: {drained: true}
nodes: {trace: {loader: "./own.py:Cores", path: jobs.csv}}
workloads: [{name: jobs, trace: {loader: ./own.py, path: jobs.csv}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(LOADER)
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    (tmp_path / "jobs.csv").write_text("at,seconds,cores\n0,600,4\n60,300,6\n")
    return tmp_path


def run(folder: Path) -> tuple[int, str]:
    found = CliRunner().invoke(cli, ["scenario", "run", str(folder / "scenario.yaml")])
    return found.exit_code, found.stderr or found.stdout


def test_a_scenario_uses_a_loader_beside_it(folder: Path) -> None:
    status, text = run(folder)
    assert status == 0
    assert text.startswith("own, seed 0: 15m00s simulated")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("0,600\n", "jobs.csv:2: 2 columns instead of 3"),
        ("9,600,4\n5,600,4\n", "jobs.csv: job-3: times run backwards, 5 after 9"),
        ("0,-1,4\n", "jobs.csv: job-2: the duration -1 is not from 0 to 1e+11 seconds"),
    ],
)
def test_bad_records_are_one_line(folder: Path, rows: str, problem: str) -> None:
    (folder / "jobs.csv").write_text("at,seconds,cores\n" + rows)
    assert run(folder) == (2, f"stowplan: {folder}/{problem}\n")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("row.number(\"seconds\")", "1 / 0", "Cores: raised ZeroDivisionError: division by zero (own.py:11)"),
        ("yield TraceNode(", "yield (", "Cores: raised AttributeError: 'tuple' object has no attribute 'problem'"),
        ("class Cores", "x = y\nclass Cores", "./own.py:Cores: raised NameError: name 'y' is not defined (own.py:4)"),
    ],
)  # fmt: skip
def test_exceptions_of_a_loader_are_one_line(folder: Path, old: str, new: str, problem: str) -> None:
    (folder / "own.py").write_text(LOADER.replace(old, new))
    (folder / "scenario.yaml").write_text(SCENARIO.replace("./own.py,", "./own.py:Cores,"))
    assert run(folder) == (4, f"stowplan: trace loader {problem}\n")


def test_a_negative_amount_of_a_node_is_one_line(folder: Path) -> None:
    (folder / "own.py").write_text(LOADER.replace("8000", "-8000"))
    assert run(folder) == (2, f"stowplan: {folder}/jobs.csv: node n1: the amount of cpu is not from 0 to 2^63-1\n")


@pytest.mark.parametrize(
    ("loader", "problem"),
    [
        ("missing.py", r"trace loader missing.py: no such file: .*missing.py"),
        ("own.py:Other", "trace loader own.py:Other: no class Other derived from"),
        ("two.py", r"the file defines several loaders \(First, Second\): append :First"),
        ("none.py", "the file defines no class derived from stowplan.traces.TraceLoader"),
        ("no.such:Class", "trace loader no.such:Class: no module no"),
        ("json:JSONDecoder", "no class JSONDecoder derived from"),
        (":Class", "trace loader :Class: expected ./file.py"),
        ("opnb", r'unknown trace loader "opnb": did you mean openb\?'),
        ("zzz", "one of openb, .*, recording, or ./file.py"),
    ],
)
def test_a_class_that_cannot_be_loaded_is_one_line(folder: Path, loader: str, problem: str) -> None:
    base = "from stowplan.traces import TraceLoader\n"
    (folder / "none.py").write_text(base)
    (folder / "two.py").write_text(f"{base}class First(TraceLoader): ...\nclass Second(TraceLoader): ...\n")
    with pytest.raises(InputError, match=problem):
        open_trace(loader, folder, folder=folder)


def test_a_module_that_fails_names_the_loader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    (folder / "broken_traces.py").write_text("import no_such_module_at_all\n")
    with pytest.raises(PluginBugError, match="trace loader broken_traces:Own: raised ModuleNotFoundError"):
        open_trace("broken_traces:Own", folder)


FAULT = "0,600,4\n60,300,6\n700,300\n"
FAULT_LINE = "jobs.csv:4: 2 columns instead of 3"


def test_check_reads_a_trace_to_its_end(folder: Path) -> None:
    (folder / "jobs.csv").write_text("at,seconds,cores\n" + FAULT)
    found = CliRunner().invoke(cli, ["scenario", "check", str(folder / "scenario.yaml")])
    assert (found.exit_code, found.stderr) == (2, f"stowplan: {folder}/{FAULT_LINE}\n")
    assert found.stdout == ""


def test_a_run_that_fails_in_the_middle_writes_what_there_is(folder: Path) -> None:
    (folder / "jobs.csv").write_text("at,seconds,cores\n" + FAULT)
    expect = "expect: [{metric: jobs, equals: 3}, {metric: pending, at: 30s, below: 2}]\n"
    (folder / "scenario.yaml").write_text(SCENARIO + expect)
    found = CliRunner().invoke(cli, ["scenario", "run", str(folder / "scenario.yaml"), "--out", str(folder / "out")])
    assert (found.exit_code, found.stderr) == (2, f"stowplan: {folder}/{FAULT_LINE}\n")
    head, *_, first, second = found.stdout.splitlines()
    assert head.startswith("own, seed 0: 1m00s simulated")
    assert head.endswith(", not complete: an error ended the run")
    assert first == "FAILED  jobs equals 3: found an error at 1m00s"
    assert second.startswith("ok      pending below 2: found")
    document = json.loads((folder / "out" / "run.json").read_bytes())
    assert document["error"] == f"{folder}/{FAULT_LINE}"
    assert document["rows"]["pods"] == 2
    with pytest.raises(InputError, match=r"run.json: the run is not complete: .*jobs.csv:4"):
        load_summary(folder / "out")


def test_the_suite_of_a_run_that_fails_has_an_error(folder: Path) -> None:
    (folder / "jobs.csv").write_text("at,seconds,cores\n" + FAULT)
    found = CliRunner().invoke(cli, ["scenario", "run", str(folder / "scenario.yaml"), "-o", "junit"])
    assert found.exit_code == 2
    (suite,) = ElementTree.fromstring(found.stdout)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")
    assert [each.get("message") for each in suite.iter("error")] == [f"{folder}/{FAULT_LINE}"]


def test_the_summary_of_a_trace_names_its_origin(folder: Path) -> None:
    for name, origin in (("Cores", ""), ("Described", "example.com/trace")):
        (folder / "own.py").write_text(f"{LOADER}\nclass Described(Cores):\n    origin = 'example.com/trace'\n")
        assert open_trace(f"./own.py:{name}", folder, folder=folder).about().origin == origin


def test_a_file_with_a_byte_order_mark(folder: Path) -> None:
    (folder / "jobs.csv").write_text("\ufeffat,seconds,cores\n0,600,4\n", encoding="utf-8")
    assert run(folder)[0] == 0


def test_text_that_no_file_can_hold_is_one_line(folder: Path) -> None:
    (folder / "own.py").write_text(LOADER.replace('f"job-{row.line}"', '"\\ud800"'))
    assert run(folder) == (2, f"stowplan: {folder}/jobs.csv: \\ud800: key, job or tenant is not text in UTF-8\n")
