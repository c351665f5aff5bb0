"""The examples in the help run as written."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stowplan.cli.main import cli
from stowplan.scaffold import Names, files_of

ENDLESS = (
    "extender --",
    "extender explain shop/web-0",
    "extender replay",
    "demo",
    "web",
    "bench",
    "simulate --from-cluster",
    "explain",
    "mcp",
    "why-not",
    "snapshot",
    "what-if",
    "diff",
    "record",
    "replay",
    "sweep study.yaml --dask",
)
"""Commands that serve, call others or measure, or have a status other than 0: only options and arguments are parsed."""
V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: '1', pods: '9'}}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
SNAPSHOT = (
    '{"kind":"StowplanSnapshot","version":1,"takenAt":"2026-01-01T00:00:00Z","objects":{"Node":[{"metadata":'
    '{"name":"n","uid":"n"},"status":{"allocatable":{"cpu":"1","pods":"9"}}}]}}'
)
SCENARIO = """
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
until: {time: 1h}
nodes: {pools: [{name: n, count: 1, template: {status: {allocatable: {cpu: "1", pods: "9"}}}}]}
workloads:
- name: p
  template: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}
  arrivals: {every: 10m}
  duration: 1m
"""
PLUGIN = files_of(Names.of("rack-care"))["src/rack_care/plugin.py"]
FILES = {
    "cases.jsonl": '{"pod": {"metadata": {"name": "p"}}, "nodes": [{"metadata": {"name": "n"}}]}\n',
    "case.yaml": "pod: {metadata: {name: p}}\nnodes: [{metadata: {name: n}}]\n",
    "decisions.jsonl": '{"time": "now", "verb": "filter", "decision": {"pod": "shop/web-0", "nodes": 2}}\n',
    "scheduler.yaml": V1,
    "old-scheduler.yaml": V1.replace("v1\n", "v1alpha1\n", 1) + "algorithmSource: {policy: {file: {path: nowhere}}}\n",
    "policy.json": '{"kind": "Policy", "apiVersion": "v1"}',
    "scheduler-policy.json": '{"kind": "Policy", "apiVersion": "v1"}',
    "policy.yaml": "kind: Policy\napiVersion: v1\n",
    "cluster.yaml": NODE,
    "cluster.json.gz": SNAPSHOT,
    "deployment.yaml": POD,
    "manifests/all.yaml": f"{NODE}---\n{POD}",
    "my.py": PLUGIN.replace("RackCare", "MyPlugin"),
    "rack_care.py": PLUGIN,
    "scenario.yaml": SCENARIO,
    "study.yaml": "apiVersion: simulation.stowplan/v1alpha1\nkind: Study\nscenario: scenario.yaml\n",
    "a.yaml": V1,
    "b.yaml": V1,
}


def examples() -> Iterator[str]:
    """Each command of every help text, without the program's name and pipes."""

    def walk(command: click.Command, ctx: click.Context) -> Iterator[str]:
        text = (command.epilog or "").replace("\\\n", "")
        yield from re.findall(r"^ +stowplan (.*?)(?: \d?[|<>].*)?$", text, re.MULTILINE)
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                child = command.get_command(ctx, name)
                assert child is not None
                yield from walk(child, click.Context(child, info_name=name, parent=ctx))

    return walk(cli, click.Context(cli, info_name="stowplan"))


ALL = sorted(set(examples()))


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("example", [line for line in ALL if not line.startswith(ENDLESS)])
def test_examples_work(example: str) -> None:
    given = FILES["cases.jsonl"] if example.startswith("evaluate") else V1
    result = CliRunner().invoke(cli, shlex.split(example), input=given, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert result.stdout


@pytest.mark.parametrize("example", [line for line in ALL if line.startswith(ENDLESS)])
def test_examples_can_be_read(example: str) -> None:
    command: click.Command = cli
    words = shlex.split(example)
    ctx = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(ctx, words.pop(0))
        assert found is not None
        command = found
    assert command.make_context(command.name, words).params


def test_there_are_examples_of_both_sorts() -> None:
    assert len([line for line in ALL if line.startswith(ENDLESS)]) > 10
    assert len(ALL) > 30
