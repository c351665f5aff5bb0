"""The distributions are the same wherever and whenever they are built, and hold what they should."""

import base64
import csv
import hashlib
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from tests.packaging.conftest import Distributions, build

from stowplan._version import __version__

pytestmark = [pytest.mark.slow]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def wheel(distributions: Distributions) -> dict[str, bytes]:
    with zipfile.ZipFile(distributions.wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_another_build_elsewhere_and_later_is_the_same(
    source: Path, distributions: Distributions, tmp_path: Path
) -> None:
    elsewhere = shutil.copytree(source, tmp_path / "somewhere-else", copy_function=shutil.copy)
    for path in elsewhere.rglob("*"):
        # As a clone gives them to somebody whose files are nobody else's business.
        path.chmod(path.stat().st_mode & 0o700)
    again = build(elsewhere, tmp_path / "dist")
    assert (digest(again.wheel), digest(again.sdist)) == (digest(distributions.wheel), digest(distributions.sdist))


def test_the_wheel_can_be_built_from_the_sdist(distributions: Distributions, tmp_path: Path) -> None:
    with tarfile.open(distributions.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert {"docs", "tests", "deploy", "examples", "Makefile", "LICENSE"} <= {path.name for path in folder.iterdir()}
    again = build(folder, tmp_path / "dist", "wheel")
    assert digest(again.wheel) == digest(distributions.wheel)


def test_what_docker_is_shown_of_the_source_is_enough(
    source: Path, distributions: Distributions, tmp_path: Path
) -> None:
    context = tmp_path / "context"
    context.mkdir()
    for line in (source / "deploy" / "Dockerfile.dockerignore").read_text().splitlines():
        if line.startswith("!"):
            part = source / line[1:]
            shutil.copytree(part, context / part.name) if part.is_dir() else shutil.copy(part, context)
    assert digest(build(context, tmp_path / "dist", "wheel").wheel) == digest(distributions.wheel)


def test_the_metadata_is_complete(wheel: dict[str, bytes]) -> None:
    metadata = Metadata.from_email(wheel[f"stowplan-{__version__}.dist-info/METADATA"], validate=True)
    assert (metadata.name, str(metadata.version)) == ("stowplan", __version__)
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description_content_type == "text/markdown"
    assert (metadata.description or "").startswith("# Stowplan\n")
    assert len(metadata.summary or "") <= 512
    assert metadata.requires_python is not None
    assert "3.11" in metadata.requires_python
    assert "3.10" not in metadata.requires_python
    assert sorted(map(str, metadata.provides_extra or ())) == [
        "dask",
        "data",
        "gym",
        "lint",
        "mcp",
        "optuna",
        "plots",
        "test",
        "testing",
    ]


def test_every_file_is_recorded_with_its_hash(wheel: dict[str, bytes]) -> None:
    (name,) = [name for name in wheel if name.endswith("/RECORD")]
    recorded = {row[0]: row[1] for row in csv.reader(io.StringIO(wheel[name].decode()))}
    assert recorded.keys() == wheel.keys()
    for path, content in wheel.items():
        if path != name:
            hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert recorded[path] == f"sha256={hashed}"


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(wheel: dict[str, bytes]) -> None:
    assert {name.split("/")[0] for name in wheel} == {"stowplan", f"stowplan-{__version__}.dist-info"}
    assert not [name for name in wheel if name.endswith((".pyc", "~")) or name.startswith("stowplan/tests")]
    wanted = {
        "stowplan/py.typed",
        "stowplan/simulator/sample/cluster.yaml",
        "stowplan/simulator/demo/scenario.yaml",
        "stowplan/scaffold/template/src/PACKAGE/plugin.py.tmpl",
        "stowplan/scaffold/template/.gitignore.tmpl",
        "stowplan/testing/controlplane/helm/go.sum",
        "stowplan/web/static/index.html",
        "stowplan/web/static/vendor/uplot.js",
        f"stowplan-{__version__}.dist-info/licenses/src/stowplan/web/static/vendor/LICENSE.uplot",
        f"stowplan-{__version__}.dist-info/licenses/LICENSE",
    }
    assert wanted <= wheel.keys()
    scripts = wheel[f"stowplan-{__version__}.dist-info/entry_points.txt"].decode()
    assert "stowplan = stowplan.cli.main:main" in scripts
    assert "kubectl-stow = stowplan.cli.kubectl_stow:main" in scripts
