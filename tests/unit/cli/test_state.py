"""Where commands get their state from."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.builders.manifests import pod_manifest

from stowplan.cli.main import cli
from stowplan.cli.state import RunOptions, StateOptions, open_state
from stowplan.config import default_configuration

NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "ant"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}},
}


def write(path: Path, *documents: Any) -> str:
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return str(path)


def test_manifests_are_simulated_until_nothing_changes(tmp_path: Path) -> None:
    file = write(tmp_path / "m.yaml", NODE, pod_manifest("small", "1"), pod_manifest("large", "9"))
    with open_state(StateOptions((file,)), default_configuration(), {}, options=RunOptions(seed=1)) as state:
        assert state.insight.find("small").placed
        assert not state.insight.find("large").placed
        assert len(state.objects) == 3
        assert state.namespace == "default"
        assert state.as_of.source == "manifests"
        assert state.as_of.by.endswith("default configuration")


def test_manifests_are_overlays_of_the_base(tmp_path: Path) -> None:
    base = write(tmp_path / "base.yaml", NODE, pod_manifest("large", "9"))
    grown = write(tmp_path / "node.yaml", {**NODE, "status": {"allocatable": {"cpu": "16"}}})
    assert run("explain", "large", "--base", base).exit_code == 3
    assert run("explain", "large", "--base", base, "-f", grown).exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Missing the state"),
        (("--base", "x", "--from-cluster"), "exclude each other"),
        (("-f", "x", "--context", "c"), "need --from-cluster"),
        (("-f", "x", "--insecure-skip-tls-verify"), "need --from URL"),
        (("--from", "http://127.0.0.1:1"), "credentials are sent over https only"),
        (("--from", "https://127.0.0.1:1", "-f", "x"), "-f cannot be used with a running scheduler"),
        (("--from", "https://127.0.0.1:1", "--as", "x", "--kubeconfig", "x"), "x"),
    ],
)
def test_wrong_usage_is_one_line(options: tuple[str, ...], message: str) -> None:
    result = run("explain", "p", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_unknown_pod_is_one_line(tmp_path: Path) -> None:
    result = run("explain", "nowhere", "-f", write(tmp_path / "m.yaml", NODE))
    assert result.exit_code == 2
    assert result.stderr == "stowplan: pod default/nowhere is not known: there are no pods\n"


def run(*args: str) -> Any:
    return CliRunner().invoke(cli, args)
