"""The software bill of materials of the wheel and of the image."""

import json
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


def bill(wheel: Path, *options: str, folder: Path = PROJECT) -> str:
    command = [sys.executable, "requirements/sbom.py", "requirements/runtime.txt", str(wheel), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


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


def test_it_is_reproducible(distributions: Distributions, source: Path) -> None:
    first = bill(distributions.wheel)
    assert bill(distributions.wheel, folder=source) == first
    assert json.loads(first)["serialNumber"] != json.loads(bill(distributions.wheel, "--here"))["serialNumber"]


def test_packages_for_other_platforms_are_left_out(distributions: Distributions) -> None:
    found = json.loads(bill(distributions.wheel, "--here"))
    names = [each["name"] for each in found["components"]]
    assert len(names) == len(set(names)), "Each in one version."
    assert ("colorama" in names) == (sys.platform == "win32")
    assert ("uvloop" in names) == (sys.platform != "win32")


def test_the_image_has_it(image: Image) -> None:
    found = json.loads((image.prefix / "stowplan.cdx.json").read_text())
    (packages,) = image.prefix.glob("lib/python*/site-packages")
    installed = {(canonicalize_name(each.name), each.version) for each in installed_in(path=[str(packages)])}
    listed = {(each["name"], each["version"]) for each in found["components"]}
    assert listed | {("stowplan", __version__)} == installed
