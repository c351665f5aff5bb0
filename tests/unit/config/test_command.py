"""The command `stowplan config`, run as the command line runs it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli.main import cli
from stowplan.config import default_configuration, from_builtins, load

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
MINE = f"{HEAD}profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins: {{filter: {{enabled: [name: Mine]}}}}\n"


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["config", *arguments], input=text)


def test_default_prints_what_loads_as_the_default() -> None:
    assert load(run("default").stdout) == default_configuration()
    assert from_builtins(json.loads(run("default", "-o", "json").stdout)) == default_configuration()


def test_check_tells_of_each_valid_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(HEAD)
    two.write_text(MINE)
    result = run("check", str(one), str(two), "--known-plugin", "Mine")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        f"{one}: valid (KubeSchedulerConfiguration v1, 1 profile)",
        f"{two}: valid (KubeSchedulerConfiguration v1, 2 profiles)",
    ]


def test_check_reads_standard_input() -> None:
    assert run("check", "-", text=HEAD).stdout == "<stdin>: valid (KubeSchedulerConfiguration v1, 1 profile)\n"


def test_check_reports_all_faults_of_all_files(tmp_path: Path) -> None:
    good, bad, missing = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "missing.yaml"
    good.write_text(HEAD)
    bad.write_text(f"{MINE}parallelism: 0\n")
    result = run("check", str(bad), str(missing), str(good))
    assert result.exit_code == 2
    assert result.stdout == f"{good}: valid (KubeSchedulerConfiguration v1, 1 profile)\n"
    assert [line.removeprefix("stowplan: ") for line in result.stderr.splitlines()] == [
        f'{bad}: $.profiles[1].plugins.filter.enabled[0].name: unknown plugin "Mine"',
        f"{bad}: $.parallelism: Invalid value: 0: should be an integer value greater than zero",
        f"{missing}: No such file or directory",
    ]


@pytest.mark.parametrize("arguments", [("check",), ("default", "-o", "xml")])
def test_bad_usage(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
