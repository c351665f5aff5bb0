"""What is deployed, rendered by the tools that people use: helm for the chart, kubectl for the Kustomize overlays."""

import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.rendered import DEPLOY

from stowplan._version import KUBERNETES_VERSION
from stowplan.testing.binaries import require
from stowplan.testing.errors import UnavailableError
from stowplan.testing.objects import JsonObject

NAMESPACE = "stowplan-system"

Render = Callable[..., list[JsonObject]]
Refuse = Callable[[dict[str, Any]], str]


def binary(name: str) -> Path:
    """The tool, or a skipped test where it is neither there nor was built; in CI, a failed one."""
    try:
        (found,) = require([name])
    except UnavailableError as problem:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(problem))
    return found


def run(*command: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def _template(values: dict[str, Any], folder: Path = DEPLOY / "chart") -> subprocess.CompletedProcess[str]:
    flags = ["--namespace", NAMESPACE, "--kube-version", KUBERNETES_VERSION, "--values", "-"]
    return run(binary("helm"), "template", "demo", folder, *flags, given=yaml.safe_dump(values))


@pytest.fixture(scope="session")
def chart() -> Render:
    """The objects of the chart with these values."""

    def render(**values: Any) -> list[JsonObject]:
        made = _template(values)
        assert made.returncode == 0, made.stderr
        return [obj for obj in yaml.safe_load_all(made.stdout) if obj]

    return render


@pytest.fixture
def notes(tmp_path: Path) -> Callable[..., str]:
    """The notes of an installation with these values. Helm prints them only with a cluster, so that a copy of the chart
    has them as an object."""
    folder = tmp_path / "chart"
    shutil.copytree(DEPLOY / "chart", folder)
    text = (folder / "templates" / "NOTES.txt").read_text()
    (folder / "templates" / "notes.yaml").write_text("kind: Notes\ntext: |\n" + textwrap.indent(text, "  "))

    def render(**values: Any) -> str:
        made = _template(values, folder)
        assert made.returncode == 0, made.stderr
        (found,) = [obj["text"] for obj in yaml.safe_load_all(made.stdout) if obj and obj["kind"] == "Notes"]
        return str(found)

    return render


@pytest.fixture(scope="session")
def refused() -> Refuse:
    """Why the chart cannot be rendered with these values."""

    def render(values: dict[str, Any]) -> str:
        made = _template(values)
        assert made.returncode != 0
        return made.stderr

    return render


@pytest.fixture(scope="session")
def overlay() -> Render:
    """The objects of an overlay."""

    def render(name: str) -> list[JsonObject]:
        made = run(binary("kubectl"), "kustomize", DEPLOY / "kustomize" / "overlays" / name)
        assert made.returncode == 0, made.stderr
        return [obj for obj in yaml.safe_load_all(made.stdout) if obj]

    return render
