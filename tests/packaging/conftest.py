"""The distributions, built once from a copy of the source, and the wheel installed as the Dockerfile installs it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.packaging.dockerfile import DOCKERFILE, Stage, stages
from tests.packaging.wheelhouse import fill_wheelhouse, requirements_of, write_lock

PROJECT = Path(__file__).parents[2]
PARTS = ("src", "tests", "benchmarks", "deploy", "docs", "examples", "requirements", "pyproject.toml")
UNWANTED = shutil.ignore_patterns("__pycache__", "*.pyc")


class Distributions(NamedTuple):
    """The two files that a release consists of."""

    wheel: Path
    sdist: Path


def copy_source(folder: Path) -> Path:
    """The project's files as a clone has them, without what tests and builds left there."""
    folder.mkdir()
    for path in [*(PROJECT / part for part in PARTS), *PROJECT.glob("[A-Z]*")]:
        if path.is_dir():
            shutil.copytree(path, folder / path.name, ignore=UNWANTED)
        else:
            shutil.copy(path, folder)
    return folder


def build(source: Path, folder: Path, *targets: str) -> Distributions:
    """Build as `python -m build` would, with the tools that are here."""
    wanted = [word for target in targets or ("sdist", "wheel") for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *wanted]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    made = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return Distributions(next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"), folder))


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_source(tmp_path_factory.mktemp("packaging") / "source")


@pytest.fixture(scope="session")
def distributions(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    return build(source, tmp_path_factory.mktemp("dist"))


class Image(NamedTuple):
    """What the image holds besides its base: a folder to be the root, and where in it the environment is."""

    root: Path
    prefix: Path
    """As seen from outside."""
    final: Stage


@pytest.fixture(scope="session")
def image(distributions: Distributions) -> Iterator[Image]:
    """The build stage's own commands, run in an empty folder. Packages come from this environment, not from afar.

    pytest's folders are closed to other users, who have to look into this one.
    """
    with tempfile.TemporaryDirectory(prefix="stowplan-image-") as name:
        root = Path(name)
        root.chmod(0o755)
        wheels = fill_wheelhouse(root / "wheels", [*requirements_of(distributions.wheel), "hatchling"])
        locks = root / "requirements"
        locks.mkdir()
        shutil.copy(PROJECT / "requirements" / "sbom.py", locks)
        write_lock(locks / "runtime.txt", wheels, requirements_of(distributions.wheel))
        write_lock(locks / "build.txt", wheels, ["hatchling"])
        build_stage, final = stages(DOCKERFILE.read_text())
        prefix = root / "opt" / "stowplan"
        prefix.parent.mkdir()
        where = {
            "PREFIX": str(prefix),
            "SOURCE": str(distributions.wheel),
            "LOCKS": str(locks),
            "BUILD": str(root / "build"),
        }
        pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_COMPILE": "1"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        for command in build_stage.runs:
            run = subprocess.run(
                ["sh", "-ec", command],
                env={"PATH": path, "HOME": name, **where, **pip},
                capture_output=True,
                text=True,
                check=False,
            )
            assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
        for folder in (wheels, locks, root / "build"):
            shutil.rmtree(folder)
        yield Image(root, prefix, final)
