"""`stowplan config convert`, and the other commands on files of earlier versions."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.conversion import samples

from stowplan.cli.main import cli

REFERRING = "v1alpha1-policy-file"


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["config", *arguments], input=text)


@pytest.mark.parametrize("name", [name for name in samples.NAMES if name != REFERRING])
def test_converts_to_standard_output_and_warns_on_standard_error(name: str) -> None:
    result = run("convert", str(samples.GIVEN[name]))
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout) == yaml.safe_load(samples.expected_file(name).read_text())
    for notice in samples.loaded(name).converted.notices:
        assert f"stowplan: warning: {samples.GIVEN[name]}: {notice.path}: {notice.message}\n" in result.stderr


def test_json_from_standard_input() -> None:
    result = run("convert", "-", "-o", "json", text=samples.text_of("policy-plain"))
    assert json.loads(result.stdout)["extenders"][0]["filterVerb"] == "filter"
    assert result.stderr == ""


def test_a_v1_file_stays_as_it_is() -> None:
    result = run("convert", str(samples.GIVEN["v1"]))
    assert yaml.safe_load(result.stdout) == yaml.safe_load(samples.text_of("v1"))
    assert result.stderr == ""


def test_a_warning_asks_to_change_the_probes() -> None:
    result = run("convert", "-", text=samples.text_of("v1alpha1-plugins"))
    assert "no longer over HTTP on 127.0.0.1:10251" in result.stderr


def test_a_policy_elsewhere(tmp_path: Path) -> None:
    file = str(samples.GIVEN[REFERRING])
    missing = run("convert", file)
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert missing.stderr == (
        f"stowplan: the policy cannot be read: {samples.POLICY}: No such file or directory; pass its path "
        "with --policy\n"
    )
    given = run("convert", file, "--policy", str(samples.GIVEN["policy-extender-only"]))
    assert yaml.safe_load(given.stdout) == yaml.safe_load(samples.expected_file(REFERRING).read_text())
    here = tmp_path / "policy.yaml"
    here.write_text(samples.text_of("policy-extender-only"))
    referring = run("convert", "-", text=samples.text_of(REFERRING).replace(samples.POLICY, str(here)))
    assert referring.stdout == given.stdout


def test_a_policy_in_a_config_map() -> None:
    text = samples.text_of(REFERRING).replace(f'file:\n      path: "{samples.POLICY}"', "configMap: {name: mine}")
    result = run("convert", "-", text=text)
    assert result.exit_code == 2
    assert "kubectl get configmap -n kube-system mine" in result.stderr
    assert result.stderr.endswith("and pass it with --policy FILE\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"predicates": [{"name": "X"}]}', '<stdin>: $.predicates[0].name: unknown predicate "X"'),
        ("kind: Policy\nextenders: 3\n", "<stdin>: $.extenders: expected a list, got an integer"),
        ("apiVersion: v1\nkind: Pod\n", '<stdin>: $.kind: Invalid value: "Pod": must be KubeSchedulerConfiguration'),
        ("", "<stdin>: empty, there is no configuration in it"),
    ],
)
@pytest.mark.parametrize("command", ["convert", "check"])
def test_bad_input_is_told_in_a_line(command: str, text: str, line: str) -> None:
    result = run(command, "-", text=text)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"stowplan: {line}\n")


def test_check_tells_of_the_version_and_warns() -> None:
    file = str(samples.GIVEN["policy-arguments"])
    result = run("check", file)
    assert (result.exit_code, result.stdout) == (0, f"{file}: valid (Policy v1, 1 profile)\n")
    assert (
        f'warning: {file}: $.extenders[0].ignoreable: unknown field, which has no effect (did you mean "ignorable"?)'
        in result.stderr
    )
    assert f"warning: {file}: $.extenders[0].httpTimeout: 30ns is over before most replies" in result.stderr
    assert "(KubeSchedulerConfiguration v1beta2, 2 profiles)" in run("check", str(samples.GIVEN["v1beta2"])).stdout


def test_simulate_takes_them_too() -> None:
    file = str(samples.GIVEN["v1beta2"])
    pod = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
    result = CliRunner().invoke(cli, ["simulate", "--config", file, "-f", "-"], input=pod)
    assert result.exit_code == 0, result.stderr
    assert f"warning: {file}: $.profiles[0]: default weights of this version are kept" in result.stderr
