"""The command `stowplan diff`: configurations, plugins and recorded runs compared, and bad input."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.builders import Json
from tests.unit.simulator.what_if.asking import as_list, node, workload

from stowplan.cli.main import cli, main

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
                }
            ],
            "plugins": {
                "multiPoint": {
                    "disabled": [{"name": "NodeResourcesBalancedAllocation"}, {"name": "PodTopologySpread"}],
                }
            },
        }
    ],
}
PLUGIN = """
from stowplan import Plugin


class Favourite(Plugin):
    name = "Favourite"

    def score(self, state, pod, node):
        return 100 if node.name == "{node}" else 0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_bytes(as_list(node("n1"), node("n2", zone="b"), workload("web", 6)))
    (tmp_path / "pack.yaml").write_text(yaml.safe_dump(CONFIG))
    for name in ("n1", "n2"):
        (tmp_path / f"{name}.py").write_text(PLUGIN.replace("{node}", name))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["diff", *arguments])


def diff(*arguments: str) -> Json:
    result = run(*arguments, "-o", "json")
    assert result.exit_code == 0, result.stderr or result.exception
    found: Json = json.loads(result.stdout)
    return found


def simulated(name: str, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["simulate", "-f", "cluster.json", "-o", "json", *arguments])
    Path(name).write_bytes(result.stdout_bytes)
    return name


def test_two_configurations() -> None:
    found = diff("default", "pack.yaml", "-f", "cluster.json")
    assert len(found["moved"]) == 3
    assert found["sentence"] == "Of 6 pods in both runs: 3 on another node."
    assert found["totalsAfter"]["use"][0]["deviation"] > found["totalsBefore"]["use"][0]["deviation"]
    assert found["before"] == "default configuration"
    same = diff("pack.yaml", "pack.yaml", "-f", "cluster.json")
    assert same["sentence"] == "No difference: 6 pods in both runs, all on the same nodes."


def test_two_plugins() -> None:
    found = diff("./n1.py", "./n2.py", "-f", "cluster.json")
    assert found["moved"]
    assert {each["scoreAfter"] for each in found["moved"]} != {None}


def test_two_reports() -> None:
    first, second = simulated("a.json"), simulated("b.json", "--config", "pack.yaml")
    found = diff(first, second)
    assert len(found["moved"]) == 3
    assert found["scoreBefore"] != found["scoreAfter"]
    assert found["totalsBefore"]["requested"]["cpu"] == 6000
    text = run(first, second).stdout
    assert text.startswith("a.json against b.json\nOf 6 pods in both runs: 3 on another node.\nScores of the chosen")
    assert "shop/Deployment/web" in text


def test_pods_that_wait_now() -> None:
    first = simulated("a.json")
    report = json.loads(Path(first).read_text())
    report["pods"][0] |= {"node": "", "status": "Pending"}
    Path("b.json").write_text(json.dumps(report))
    found = diff(first, "b.json")
    assert [each["pod"] for each in found["nowWaiting"]] == [report["pods"][0]["pod"]]
    assert [each["pod"] for each in diff("b.json", first)["nowPlaced"]] == [report["pods"][0]["pod"]]


def test_recordings_and_decision_logs() -> None:
    bind = {"verb": "bind", "status": 200, "request": {"PodName": "a", "PodNamespace": "s", "Node": "n1"}, "reply": {}}
    Path("recording.jsonl").write_text(json.dumps({"node": {"metadata": {"name": "n1"}}}) + "\n" + json.dumps(bind))
    log = {"verb": "prioritize", "decision": {"pod": "s/a", "totals": {"n1": 3, "n2": 7}}}
    Path("decisions.jsonl").write_text(json.dumps(log) + "\n")
    found = diff("recording.jsonl", "decisions.jsonl")
    assert [(each["before"], each["after"]) for each in found["moved"]] == [("n1", "n2")]


def test_pods_of_kubectl_and_snapshots() -> None:
    pods = [{"kind": "Pod", "metadata": {"name": "a", "namespace": "s"}, "spec": {"nodeName": "n1"}}]
    Path("pods.json").write_text(json.dumps({"kind": "List", "items": pods}))
    snapshot = {"kind": "StowplanSnapshot", "objects": {"Pod": [{**pods[0], "spec": {"nodeName": "n2"}}]}}
    Path("snapshot.json.gz").write_bytes(gzip.compress(json.dumps(snapshot).encode()))
    assert diff("pods.json", "snapshot.json.gz")["moved"][0]["after"] == "n2"


def test_the_status_tells_whether_runs_differ() -> None:
    assert run("default", "pack.yaml", "-f", "cluster.json").exit_code == 0
    assert run("default", "pack.yaml", "-f", "cluster.json", "--exit-code").exit_code == 1
    assert run("default", "default", "-f", "cluster.json", "--exit-code").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("default pack.yaml", "Missing the state"),
        ("nothing.json default -f cluster.json", "nothing.json: No such file or directory"),
        ("n1.txt default -f cluster.json", "n1.txt: a report of 'simulate -o json'"),
        ("broken.json default -f cluster.json", "broken.json: line 1"),
        ("empty.json default -f cluster.json", "empty.json: it contains no placements"),
        ("odd.json default -f cluster.json", "odd.json: "),
        ("- - -f cluster.json", "Standard input can be read once."),
    ],
)
def test_bad_input_is_one_line(
    arguments: str,
    problem: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "n1.txt").write_text("hello")
    (folder / "broken.json").write_text('{"pods": [')
    (folder / "empty.json").write_text('{"x": 1}')
    (folder / "odd.json").write_text('{"pods": [{"pod": 7}]}')
    monkeypatch.setattr("sys.argv", ["stowplan", "diff", *arguments.split()])
    assert main() == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert problem in lines[0]


@pytest.mark.parametrize("damage", [lambda packed: packed[:-20], lambda packed: packed[:30] + bytes(40) + packed[70:]])
def test_a_damaged_compressed_run_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "run.json.gz"
    file.write_bytes(damage(gzip.compress(json.dumps({"pods": list(range(1000))}).encode())))
    result = CliRunner().invoke(cli, ["diff", str(file), str(file)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"stowplan: {file}: the compressed file is ")
    assert result.stderr.count("\n") == 1
