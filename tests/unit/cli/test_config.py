"""What `stowplan config check` finds beyond the fields: whether profiles can be built of the plugins that there are."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli.main import cli

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGIN = """
import msgspec
from stowplan import Plugin

class Mine(Plugin):
    name = "Mine"

    class Args(msgspec.Struct):
        limit: int = 1

    def filter(self, state, pod, node):
        return None
"""


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    return f"{file}:Mine"


def check(profile: str, *options: str) -> Result:
    text = f"{HEAD}profiles:\n- schedulerName: default-scheduler\n  {profile}\n"
    return CliRunner().invoke(cli, ["config", "check", "-", *options], input=text)


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        (
            "plugins: {filter: {enabled: [name: ImageLocality]}}",
            '$.plugins.filter: plugin "ImageLocality" does not extend FilterPlugin plugin',
        ),
        (
            "plugins: {queueSort: {disabled: [name: PrioritySort]}}",
            "$.plugins.queueSort: only one queue sort plugin required "
            'for profile with scheduler name "default-scheduler", but got 0',
        ),
    ],
)
def test_what_kube_scheduler_would_not_start_with(profile: str, error: str) -> None:
    result = check(profile)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f'stowplan: <stdin>: profile "default-scheduler": {error}\n'


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        ("plugins: {filter: {enabled: [name: Mine]}}", ""),
        ("plugins: {multiPoint: {enabled: [name: Mine]}}", ""),
        ("pluginConfig: [{name: Mine, args: {limit: 2}}]", ""),
        (
            "plugins: {score: {enabled: [name: Mine]}}",
            'profile "default-scheduler": $.plugins.score: plugin "Mine" does not extend ScorePlugin plugin',
        ),
        ("pluginConfig: [{name: Mine, args: {bound: 2}}]", 'pluginConfig of "Mine": $.bound: unknown field'),
        (
            "pluginConfig: [{name: Mine, args: {limit: two}}]",
            'pluginConfig of "Mine": $.limit: Expected `int`, got `str`',
        ),
    ],
)
def test_plugins_of_the_users(profile: str, error: str, plugin: str) -> None:
    result = check(profile, "--plugin", plugin)
    assert result.stderr == (f"stowplan: <stdin>: {error}\n" if error else "")
    assert result.exit_code == (2 if error else 0)


@pytest.mark.parametrize("point", ["filter", "score", "multiPoint", "preBind"])
def test_plugins_known_by_name_alone_pass_wherever_they_are_named(point: str) -> None:
    result = check(f"plugins: {{{point}: {{enabled: [name: Elsewhere]}}}}", "--known-plugin", "Elsewhere")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_plugin_that_cannot_be_loaded(tmp_path: Path) -> None:
    result = check("", "--plugin", f"{tmp_path}/mine.py:Mine")
    assert result.exit_code == 2
    assert result.stderr == f"stowplan: --plugin {tmp_path}/mine.py:Mine: no such file: {tmp_path}/mine.py\n"


def test_the_default_configuration_is_printed_without_importing_numpy() -> None:
    script = "import sys; from stowplan.cli.main import main; main(); sys.exit('numpy' in sys.modules)"
    command = [sys.executable, "-c", script, "config", "default"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


SHAPE = "{shape: [{utilization: 0, score: 1}]}"
STRATEGY = f"{{type: LeastAllocated, requestedToCapacityRatio: {SHAPE}}}"
RATIO = f"pluginConfig: [{{name: NodeResourcesFit, args: {{scoringStrategy: {STRATEGY}}}}}]"
DECLARED = "plugins: {multiPoint: {enabled: [name: NodeDeclaredFeatures]}}"


@pytest.mark.parametrize(
    ("profile", "release", "valid"),
    [
        (RATIO, "1.36", False),
        (RATIO, "1.35", True),
        (DECLARED, "1.35", True),
        (DECLARED, "1.34", False),
        ("plugins: {placementScore: {disabled: [name: NodeResourcesFit]}}", "1.35", False),
    ],
)
def test_a_configuration_is_checked_for_a_release(profile: str, release: str, valid: bool) -> None:
    result = check(profile, "--emulated-version", release)
    assert result.exit_code == (0 if valid else 2), result.output
