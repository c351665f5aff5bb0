"""`stowplan scheduler` up to the point where it needs a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowplan import Plugin
from stowplan.cli.scheduler import scheduler_command, with_plugin

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: mine}]}}
"""

EXTENDERS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "https://127.0.0.1:1", filterVerb: filter, tlsConfig: {insecure: true, caFile: ca.pem}}]
"""

PLUGIN = """
import stowplan

class Mine(stowplan.Plugin):
    name = "mine"

    def filter(self, state, pod, node):
        return None
"""


class Mine(Plugin):
    """Nothing but a name."""

    name = "mine"

    def filter(self, state: object, pod: object, node: object) -> None:
        return None


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


def written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert scheduler_command()(["--help"]) == 0
    assert "--leader-elect-lease-duration" in capsys.readouterr().out
    assert scheduler_command()(["--version"]) == 0
    assert capsys.readouterr().out == "Kubernetes v1.36.4\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--nonsense"], "stowplan: unknown flag: --nonsense\n"),
        (["--leader_elct=false"], 'stowplan: unknown flag: --leader-elct (did you mean "--leader-elect"?)\n'),
        (["pod"], 'stowplan: "stowplan scheduler" does not take any arguments, got ["pod"]\n'),
        (["--kubeconfig=/nowhere"], "stowplan: kubeconfig /nowhere: No such file or directory\n"),
        (["--config=/nowhere"], "stowplan: open /nowhere: no such file or directory\n"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scheduler_command()(arguments) == 1
    assert capsys.readouterr().err == complaint


def test_an_extender_that_cannot_be_reached_as_it_says_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scheduler_command()([f"--config={written(tmp_path, 'c.yaml', EXTENDERS)}"]) == 1
    message = "$.extenders[0].tlsConfig: specifying a root certificates file with the insecure flag is not allowed"
    assert message in capsys.readouterr().err


def test_a_registered_plugin_can_be_named_in_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, target = written(tmp_path, "c.yaml", CONFIG), tmp_path / "out.yaml"
    arguments = [f"--config={config}", f"--write-config-to={target}"]
    assert scheduler_command()(arguments) == 1
    assert 'unknown plugin "mine"' in capsys.readouterr().err
    assert scheduler_command(with_plugin("mine", Mine))(arguments) == 0
    assert "mine" in target.read_text()
    plugin = written(tmp_path, "plugin.py", PLUGIN)
    assert scheduler_command()([*arguments, f"--plugin={plugin}:Mine"]) == 0


@pytest.mark.parametrize("name", ["mine", "NodeName"])
def test_names_are_taken_once(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert scheduler_command(with_plugin("mine", Mine), with_plugin(name, Mine))(["--help"]) == 1
    assert f'a plugin named "{name}" already exists' in capsys.readouterr().err
