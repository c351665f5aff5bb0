from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli.main import cli


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["new-plugin", *args])


@pytest.mark.parametrize(
    ("args", "folder"), [(("RackCare",), "rack-care"), (("rack_care", "--directory", "a/b"), "a/b")]
)
def test_the_files_are_listed_and_the_next_step_told(tmp_path: Path, args: tuple[str, ...], folder: str) -> None:
    result = run(*args)
    assert result.exit_code == 0
    listed = result.stdout.splitlines()
    assert f"{folder}/src/rack_care/plugin.py" in listed
    assert all((tmp_path / path).is_file() for path in listed)
    assert f"cd {folder} && python -m pytest" in result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("node-name", '"NodeName" is the name of an in-tree plugin; choose another'),
        ("a b", '"a b" is not a valid plugin name'),
    ],
)
def test_a_name_that_cannot_be(tmp_path: Path, name: str, message: str) -> None:
    result = run(name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"stowplan: {message}")
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten() -> None:
    assert run("rack-care").exit_code == 0
    again = run("rack-care")
    assert (again.exit_code, again.stdout) == (2, "")
    assert again.stderr.startswith("stowplan: rack-care: the folder is not empty")
