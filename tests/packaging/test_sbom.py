"""The software bill of materials of the wheel and of the image."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import distributions as installed_in
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name
from tests.packaging.conftest import PROJECT, Distributions, Image
from tests.packaging.test_build import digest
from tests.packaging.test_locks import LOCKS

from stowplan._version import __version__

pytestmark = [pytest.mark.slow]


LOCK = PROJECT / "requirements" / "runtime.txt"
ELSEWHERE = f"""
elsewhere==1.0 ; sys_platform != '{sys.platform}' \\
    --hash=sha256:{"0" * 64}
    # via stowplan (pyproject.toml)
"""
"""A package for other platforms than this one."""


def bill(wheel: Path, *options: str, lock: Path = LOCK) -> str:
    command = [sys.executable, str(lock.with_name("sbom.py")), str(lock), str(wheel), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def longer_lock(source: Path, tmp_path: Path) -> Path:
    """The lock with one more package, which is for other platforms."""
    folder = Path(shutil.copytree(source / "requirements", tmp_path / "requirements"))
    with (folder / "runtime.txt").open("a") as lock:
        lock.write(ELSEWHERE.lstrip())
    return folder / "runtime.txt"


def test_it_lists_the_locked_packages_of_the_wheel(distributions: Distributions) -> None:
    found: dict[str, Any] = json.loads(bill(distributions.wheel))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    root = found["metadata"]["component"]
    assert (root["name"], root["version"]) == ("stowplan", __version__)
    assert root["hashes"] == [{"alg": "SHA-256", "content": digest(distributions.wheel)}]
    listed = {(each["name"], each["version"]) for each in found["components"]}
    assert listed == {(package.name, package.version) for package in LOCKS["runtime"]}
    refs = {root["bom-ref"], *(each["bom-ref"] for each in found["components"])}
    assert len(refs) == len(found["components"]) + 1
    depends = {each["ref"]: each["dependsOn"] for each in found["dependencies"]}
    assert depends.keys() == refs
    assert {ref for each in depends.values() for ref in each} == refs - {root["bom-ref"]}
    assert "pkg:pypi/pyyaml@6" in str(depends[root["bom-ref"]])


def test_it_is_reproducible(distributions: Distributions, source: Path, longer_lock: Path) -> None:
    first = bill(distributions.wheel)
    assert bill(distributions.wheel, lock=source / "requirements" / "runtime.txt") == first
    other = bill(distributions.wheel, lock=longer_lock)
    assert json.loads(other)["serialNumber"] != json.loads(first)["serialNumber"]


def test_packages_for_other_platforms_are_left_out(distributions: Distributions, longer_lock: Path) -> None:
    full, here = (json.loads(bill(distributions.wheel, *given, lock=longer_lock)) for given in ([], ["--here"]))
    (listed,) = [each for each in full["components"] if each["name"] == "elsewhere"]
    (marker,) = listed["properties"]
    assert marker["value"] == f'sys_platform != "{sys.platform}"'
    names = [each["name"] for each in here["components"]]
    assert "elsewhere" not in names
    assert ("uvloop" in names) == (sys.platform != "win32")
    assert len(names) == len(set(names)), "Each in one version."


def test_the_image_has_it(image: Image) -> None:
    found = json.loads((image.prefix / "stowplan.cdx.json").read_text())
    (packages,) = image.prefix.glob("lib/python*/site-packages")
    installed = {(canonicalize_name(each.name), each.version) for each in installed_in(path=[str(packages)])}
    listed = {(each["name"], each["version"]) for each in found["components"]}
    assert listed | {("stowplan", __version__)} == installed
