import json
import platform

import pytest
from click.testing import CliRunner

from stowplan._version import __version__
from stowplan.cli.main import cli, version

EXPECTED = {"stowplan": __version__, "python": platform.python_version(), "kubernetes": "v1.36.4"}


def test_text_has_a_line_for_each_version() -> None:
    result = CliRunner().invoke(version)
    assert result.exit_code == 0
    assert dict(line.split() for line in result.stdout.splitlines()) == EXPECTED


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_json_is_one_object_on_one_line(option: str) -> None:
    result = CliRunner().invoke(version, [option, "json"])
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    assert json.loads(result.stdout) == EXPECTED


def test_unknown_format_is_refused() -> None:
    result = CliRunner().invoke(version, ["-o", "yaml"])
    assert result.exit_code == 2
    assert "'yaml' is not one of 'text', 'json'" in result.stderr


def test_the_flag_prints_the_version_alone() -> None:
    result = CliRunner().invoke(cli, ["--version"], prog_name="stowplan")
    assert (result.exit_code, result.stdout) == (0, f"stowplan {__version__}\n")
