"""The lock files agree with pyproject.toml and with each other. No network is used."""

import importlib.util
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "requirements"
PYPROJECT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text())

_spec = importlib.util.spec_from_file_location("sbom", FOLDER / "sbom.py")
assert _spec is not None
assert _spec.loader is not None
sbom: Any = importlib.util.module_from_spec(_spec)
sys.modules["sbom"] = sbom
_spec.loader.exec_module(sbom)

EXTRAS = PYPROJECT["project"]["optional-dependencies"]
WANTED: dict[str, list[str]] = {
    "runtime": PYPROJECT["project"]["dependencies"],
    "ci": [*PYPROJECT["project"]["dependencies"], *EXTRAS["test"], *EXTRAS["lint"]],
    "build": PYPROJECT["build-system"]["requires"],
    "maintain": PYPROJECT["dependency-groups"]["maintain"],
    "site": PYPROJECT["dependency-groups"]["site"],
}
LOCKS = {name: list(sbom.read_lock((FOLDER / f"{name}.txt").read_text())) for name in WANTED}

PYTHONS = re.findall(r"Python :: (3\.\d+)", (PROJECT / "pyproject.toml").read_text())
PLATFORMS = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
ENVIRONMENTS: list[dict[str, str]] = [
    {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": platform,
        "platform_system": system,
        "os_name": "nt" if platform == "win32" else "posix",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "extra": "",
    }
    for python in PYTHONS
    for platform, system in PLATFORMS.items()
]
every_lock = pytest.mark.parametrize("name", LOCKS)


def pinned(name: str, environment: dict[str, str]) -> dict[str, Any]:
    """The packages of a lock file in an environment, each once."""
    found: dict[str, Any] = {}
    for package in LOCKS[name]:
        if package.marker is None or package.marker.evaluate(environment):
            assert package.name not in found, f"{package.name}: two versions for {environment}"
            found[package.name] = package
    return found


def problem(requirement: Requirement, packages: dict[str, Any], environment: dict[str, str]) -> str | None:
    if requirement.marker is not None and not requirement.marker.evaluate(environment):
        return None
    package = packages.get(canonicalize_name(requirement.name))
    if package is None:
        return f"{requirement} is not locked"
    return None if package.version in requirement.specifier else f"{requirement}: {package.version} is locked"


@every_lock
def test_every_requirement_is_locked_for_every_python_and_platform(name: str) -> None:
    for environment in ENVIRONMENTS:
        packages = pinned(name, environment)
        problems = [problem(Requirement(text), packages, environment) for text in WANTED[name]]
        assert not list(filter(None, problems)), f"Run make lock. {environment}"


@every_lock
def test_requirements_of_installed_packages_are_locked_too(name: str) -> None:
    """As far as the packages are installed here in the locked version."""
    for environment in ENVIRONMENTS:
        packages = pinned(name, environment)
        for package in packages.values():
            try:
                found = distribution(package.name)
            except PackageNotFoundError:
                continue
            if found.version == package.version:
                required = map(Requirement, found.requires or ())
                problems = [
                    problem(each, packages, environment) for each in required if "extra" not in str(each.marker)
                ]
                assert not list(filter(None, problems)), package.name


@every_lock
def test_every_package_has_hashes_and_no_place(name: str) -> None:
    for package in LOCKS[name]:
        assert package.hashes, package.name
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in package.hashes), package.name
    text = (FOLDER / f"{name}.txt").read_text()
    assert "://" not in text
    assert not re.search(r"^ *(--(?!hash=)|-[a-z] )", text, re.MULTILINE)


@every_lock
def test_every_package_is_required_by_another(name: str) -> None:
    direct = {canonicalize_name(Requirement(text).name) for text in WANTED[name]}
    names = {package.name for package in LOCKS[name]}
    for package in LOCKS[name]:
        assert package.name in direct or package.via & names, package.name
        assert package.via <= names | {"stowplan"}, package.name


def test_a_package_has_one_version_in_all_locks() -> None:
    for environment in ENVIRONMENTS:
        versions: dict[str, set[str]] = {}
        for name in LOCKS:
            for package in pinned(name, environment).values():
                versions.setdefault(package.name, set()).add(package.version)
        assert not {name: found for name, found in versions.items() if len(found) > 1}
        assert pinned("runtime", environment).keys() <= pinned("ci", environment).keys()
        assert pinned("build", environment).keys() <= pinned("ci", environment).keys()


def test_the_makefile_installs_with_hashes_only() -> None:
    text = (PROJECT / "Makefile").read_text().replace("\\\n", " ")
    installs = re.findall(r"\$\(PIP\) install (.*)|pip install (.*)", text)
    assert installs
    for line in ("".join(each) for each in installs):
        assert line.startswith(("--require-hashes ", "--no-deps --no-build-isolation ")), line
