"""The project that is made is one that works, as it is."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from stowplan.config import load
from stowplan.errors import InputError
from stowplan.extender.server import configuration as extender_configuration
from stowplan.scaffold import Names, files_of, write_project
from stowplan.testing.binaries import NEEDED, find

NAMES = Names.of("rack-care")


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / NAMES.project
    write_project(folder, files_of(NAMES))
    return folder


def test_no_placeholder_is_left() -> None:
    for path, text in files_of(NAMES).items():
        assert "{{" not in text, path
        assert "PACKAGE" not in path
        assert not path.endswith(".tmpl")


@pytest.mark.slow
def test_its_own_tests_pass_at_once(project: Path) -> None:
    """Without a control plane the e2e tests are skipped with a reason."""
    done = run(project, sys.executable, "-m", "pytest", "-q", CI="", XDG_CACHE_HOME=str(project), KUBEBUILDER_ASSETS="")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout
    if "skipped" in done.stdout:
        assert "python -m stowplan.testing build" in done.stdout


@pytest.mark.e2e
@pytest.mark.slow
def test_its_tests_on_a_cluster_pass(project: Path) -> None:
    """In both modes, on a control plane that the tests start; fails in CI without the binaries."""
    done = run(project, sys.executable, "-m", "pytest", "-q", "-m", "e2e")
    assert done.returncode == 0, done.stdout
    if not all(map(find, NEEDED)):
        pytest.skip("the project skipped its tests on a cluster, as it should: there is no control plane")
    assert "2 passed" in done.stdout


def test_it_is_formatted_and_clean(project: Path) -> None:
    for command in (["format", "--check"], ["check"]):
        done = run(project, "ruff", *command, ".")
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_it_is_fully_typed(project: Path) -> None:
    done = run(project, sys.executable, "-m", "mypy", "--strict", "src")
    assert done.returncode == 0, done.stdout


def test_the_simulation_of_its_readme(project: Path) -> None:
    (command,) = [line[2:] for line in readme(project) if line.startswith("$ stowplan simulate ")]
    done = run(project, "sh", "-c", command)
    assert done.returncode == 0, done.stderr
    placed = [line.split()[3] for line in done.stdout.splitlines() if line.startswith("default ")]
    assert sorted(placed) == ["ant"] * 2 + ["bee"] * 4


def test_the_configuration_of_the_other_modes(project: Path) -> None:
    config = load((project / "config/scheduler.yaml").read_bytes(), "scheduler.yaml", {"RackCare"})
    assert [profile.scheduler_name for profile in config.profiles] == ["rack-care"]
    extender = extender_configuration.load((project / "config/extender.yaml").read_text(), "extender.yaml", {})
    (stanza,) = yaml.safe_load((project / "config/kube-scheduler.yaml").read_text())["extenders"]
    assert stanza["urlPrefix"] == f"http://{extender.serving.bind_address}:{extender.serving.port}"
    assert (project / extender.plugins[0].plugin.partition(":")[0]).is_file()


def test_it_can_be_installed_and_links_to_what_exists(project: Path) -> None:
    about = tomllib.loads((project / "pyproject.toml").read_text())
    assert about["project"]["name"] == "rack-care"
    assert (project / about["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"][0] / "__init__.py").is_file()
    for line in readme(project):
        for target in [part.partition(")")[0] for part in line.split("](")[1:]]:
            assert (project / target).is_file()


def readme(project: Path) -> list[str]:
    return (project / "README.md").read_text().splitlines()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(InputError, match=r"the folder is not empty; choose another with --directory"):
        write_project(tmp_path, files_of(NAMES))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(InputError, match=r"mine"):
        write_project(tmp_path / "mine" / "x", files_of(NAMES))
