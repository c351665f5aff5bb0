"""A bug in a plugin ends every command with exit status 4 and one line that names the plugin's file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli.main import cli
from stowplan.cli.scheduler import scheduler_command
from stowplan.testing import node, pod

HEAD = "from stowplan import Plugin, accept, error, reject, skip, wait\n\nclass P(Plugin):\n    name = 'p'\n"
FILTER = "def filter(self, state, pod, node): "
SCORE = "def score(self, state, pod, node): "
AT_LOAD = {
    "def fitler(self, state, pod, node): pass": ":5: class P: the scheduler never calls method",
    f"async {FILTER}pass": ":5: class P: filter is async",
    f"def __init__(self, args, handle): pass\n    {FILTER}pass": ":5: class P: __init__ does not initialise Plugin",
    f"def __init__(self, args, handle): 1 / 0\n    {FILTER}pass": "division by zero ({}/mine.py:5)",
    "x = undefined": "NameError: name 'undefined' is not defined ({}/mine.py:5)",
}
LATER = {
    f"{FILTER}return 1 / 0": "filter raised ZeroDivisionError: division by zero ({}/mine.py:5)",
    f"{FILTER}return wait(5)": "filter returned wait(), which only permit may return: return reject(reason) instead",
    f"{FILTER}return skip()": "filter returned skip(), which only pre_filter,",
    f"{FILTER}return True": "it returned True, expected a Status or None: return None to accept",
    f"{FILTER}return pod.spec.service_account": "others are in `object` with needs_objects = True",
    f"{SCORE}return 'high'": "score returned 'high', expected a number",
    f"{SCORE}return 700": "returns an invalid score 700",
}
FINE = ["return reject('no')", "return error('on purpose')", "return None"]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


def simulate(file: Path, body: str) -> Result:
    file.write_text(f"{HEAD}    {body}\n")
    manifests = file.with_name("all.json")
    items = [{"kind": "Node", **node(name)} for name in ("a", "b")] + [{"kind": "Pod", **pod("web")}]
    manifests.write_text(json.dumps({"kind": "List", "items": items}))
    return CliRunner().invoke(cli, ["simulate", "-f", str(manifests), f"--plugin={file}:P"])


def evaluate(file: Path, body: str) -> Result:
    file.write_text(f"{HEAD}    {body}\n")
    case = json.dumps({"pod": pod("web"), "nodes": [node("a"), node("b")]})
    return CliRunner().invoke(cli, ["evaluate", f"--plugin={file}:P", "-"], input=case)


@pytest.mark.parametrize("body", AT_LOAD)
@pytest.mark.parametrize("command", [simulate, evaluate])
def test_a_plugin_that_cannot_be_loaded(command: object, body: str, mine: Path) -> None:
    result = (simulate if command is simulate else evaluate)(mine, body)
    assert (result.exit_code, result.stdout) == (4, "")
    (line,) = result.stderr.splitlines()
    assert AT_LOAD[body].format(mine.parent.name) in line


@pytest.mark.parametrize("body", LATER)
def test_a_plugin_that_fails_for_a_pod(body: str, mine: Path) -> None:
    result = evaluate(mine, body)
    assert result.exit_code == 4
    assert LATER[body].format(mine.parent.name) in json.loads(result.stdout)["error"]
    assert simulate(mine, body).exit_code == 4


@pytest.mark.parametrize("body", FINE)
def test_a_verdict_is_not_a_bug(body: str, mine: Path) -> None:
    result = simulate(mine, f"def filter(self, state, pod, node): {body}")
    assert result.exit_code == (0 if "None" in body else 3)


SCENARIO = """
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
metadata: {name: s}
until: {time: 1h}
nodes: {pools: [{name: n, count: 2, template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}}]}
workloads:
- name: web
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web:1}]}}
  replicas: {at: {0h: 3}}
expect: [{metric: nodes, below: 1}]
"""
STUDY = """
apiVersion: simulation.stowplan/v1alpha1
kind: Study
scenario: s.yaml
seeds: 1
plugins: [mine.py:P]
vary: {nodes.pools.n.count: [2]}
"""
BOTH = ("--config", "a=default", "--config", "b=default", "--seeds", "1")


@pytest.mark.parametrize("body", ["", "x = undefined", f"{FILTER}return 1 / 0"])
@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "-f", "s.yaml", "--plugin=mine.py:P"),
        ("scenario", "run", "s.yaml", "--plugin=mine.py:P"),
        ("compare", "s.yaml", "--plugin=mine.py:P", *BOTH),
        ("sweep", "study.yaml"),
        ("diff", "default", "default", "-f", "all.json", "--plugin=mine.py:P"),
        ("diff", "default", "mine.py:P", "-f", "all.json"),
        ("replay", "r.gz", "--plugin=mine.py:P"),
        ("explain", "web", "-f", "all.json", "--plugin=mine.py:P"),
        ("explain", "-f", "all.json", "--plugin=mine.py:P"),
        ("why-not", "web", "a", "-f", "all.json", "--plugin=mine.py:P"),
    ],
)
def test_a_plugin_in_other_commands(
    command: tuple[str, ...], body: str, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    simulate(mine, body or f"{FILTER}pass")
    Path("s.yaml").write_text(SCENARIO)
    Path("study.yaml").write_text(STUDY)
    pods = [pod("web"), pod("web", nodeName="a")]
    for each in pods:
        each["metadata"]["uid"] = "u"
    changes = [{"time": 0, "kind": each["kind"], "object": each} for each in (node("a"), *pods)]
    lines = [{"kind": "StowplanRecording", "version": 1}, *changes]
    Path("r.gz").write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    result = CliRunner().invoke(cli, command)
    if body:
        assert result.exit_code == 4, result.output
        assert "mine.py:5)" in result.output
    else:
        assert result.exit_code == (5 if command[0] in ("simulate", "scenario") else 0), result.output
        assert "mine.py:5)" not in result.output


def test_config_check_and_the_scheduler(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine.write_text(f"{HEAD}    scope = 'rack'\n    def filter(self, state, pod, node): pass\n")
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    result = CliRunner().invoke(cli, ["config", "check", f"--plugin={mine}:P", "-"], input=config)
    assert (result.exit_code, result.stdout) == (4, "")
    assert "class P: scope is 'rack'" in result.stderr
    mine.write_text("1 / 0")
    assert scheduler_command()([f"--plugin={mine}:P"]) == 4
    assert capsys.readouterr().err.endswith(f"division by zero ({mine.parent.name}/mine.py:1)\n")


def test_a_module_that_does_not_exist_is_a_mistake_of_the_user() -> None:
    assert CliRunner().invoke(cli, ["evaluate", "--plugin=no_such_module:P", "-"], input="").exit_code == 2
