"""The container's file system, as far as it can be had without a container: what its Dockerfile installs, in a folder
that is the root of the programs that run in it, as the image's user, who may write nowhere but to /tmp."""

import os
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.packaging.conftest import Image
from tests.packaging.dockerfile import DOCKERFILE, stages

from stowplan.testing import SCHEDULER, ControlPlane, KubeApi, Process, free_port, node, pod

pytestmark = [pytest.mark.slow]

USER = 65532
Run = Callable[..., subprocess.CompletedProcess[str]]


def libraries(files: Iterable[Path]) -> set[Path]:
    """What these programs and extension modules are linked with."""
    told = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    return {Path(found) for found in re.findall(r"(?:=> |^\t)(/\S+) \(", told, re.MULTILINE)}


def put(root: Path, path: Path) -> None:
    """A copy at the same path under another root; links are followed."""
    target = root / path.relative_to("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def put_python(root: Path, prefix: Path) -> None:
    """The interpreter with its library, which in the image is the base's."""
    program = Path(os.path.realpath(sys.executable))
    stdlib = Path(sysconfig.get_path("stdlib"))
    unwanted = shutil.ignore_patterns("test", "site-packages", "dist-packages", "config-*", "__pycache__", "idlelib")
    shutil.copytree(stdlib, root / stdlib.relative_to("/"), ignore=unwanted, dirs_exist_ok=True)
    extensions = [*stdlib.glob("lib-dynload/*.so"), *prefix.rglob("*.so")]
    for path in {program, *libraries([program, *extensions])}:
        if not path.is_relative_to(prefix):
            put(root, path)


class Inside(NamedTuple):
    """How programs are run in the image: as root in a root of its own as its user, else in folders that nobody may
    write to."""

    before: list[str]
    python: Path
    tmp: Path
    """As seen by the program."""
    environment: dict[str, str]

    def command(self, *args: str) -> list[str]:
        return [*self.before, str(self.python), *args]


@pytest.fixture(scope="module")
def inside(image: Image) -> Inside:
    variables = {name: value for name, value in image.final.environment.items() if name.startswith("PYTHON")}
    python, tmp, before = image.prefix / "bin" / "python", image.root / "tmp", list[str]()
    tmp.mkdir()
    tmp.chmod(0o1777)
    chroot = shutil.which("chroot")
    if os.geteuid() == 0 and chroot and shutil.which("ldd"):
        put_python(image.root, image.prefix)
        # From inside, the environment's python is found by its path in the image, and the base's by that in pyvenv.cfg.
        before = [chroot, f"--userspec={USER}:{USER}", str(image.root)]
        python, tmp = Path("/") / python.relative_to(image.root), Path("/tmp")
    for folder in (image.root, *image.root.rglob("*")):
        if folder.is_dir() and not folder.is_symlink() and folder.name != "tmp":
            folder.chmod(0o555)
    environment = {"HOME": "/nonexistent", "TMPDIR": str(tmp), "PATH": str(python.parent), **variables}
    return Inside(before, python, tmp, environment)


@pytest.fixture(scope="module")
def run(inside: Inside) -> Run:
    """Runs the image's python to its end."""

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = inside.command(*args)
        return subprocess.run(command, env=inside.environment, capture_output=True, text=True, check=False)

    return run


def test_the_user_is_nobody_and_cannot_write(run: Run) -> None:
    script = (
        "import os, stowplan, tempfile; print(os.getuid()); tempfile.mkstemp(); open(stowplan.__file__ + '.new', 'w')"
    )
    told = run("-c", script)
    if os.geteuid() == 0:
        assert told.stdout.strip() == str(USER)
    assert "PermissionError" in told.stderr
    assert ".new" in told.stderr


def test_the_version_is_told(run: Run) -> None:
    told = run("-m", "stowplan", "version")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("stowplan   ")


def test_the_sample_is_simulated(run: Run) -> None:
    told = run("-m", "stowplan", "simulate", "--sample")
    assert told.returncode == 0, told.stderr
    assert "10 placed, 0 pending; 5 of 5 nodes used." in told.stdout


@pytest.mark.parametrize("command", ["scheduler", "extender"])
def test_what_the_image_is_for_starts(run: Run, command: str) -> None:
    told = run("-m", "stowplan", command, "--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert f"Usage: stowplan {command}" in told.stdout.replace("python -m ", "")


@pytest.mark.e2e
def test_the_scheduler_schedules_from_there(
    image: Image, inside: Inside, control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path
) -> None:
    """With a certificate that it makes up, and nothing mounted but what logs it in."""
    (image.root / "tmp" / "scheduler.conf").write_text(control_plane.kubeconfig(SCHEDULER).read_text())
    port = free_port()
    flags = [f"--kubeconfig={inside.tmp}/scheduler.conf", "--leader-elect=false", f"--secure-port={port}"]
    command = inside.command("-m", "stowplan", "scheduler", *flags)
    with Process("image", command, tmp_path / "image.log", env=inside.environment) as scheduler:
        kube_api.create(node("n1"))
        kube_api.create(pod("web", namespace))
        assert kube_api.wait_for_pods_bound(namespace, count=1) == {"web": "n1"}, scheduler.last_log()
        trusting = ssl._create_unverified_context()
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=trusting) as page:
            assert page.read() == b"ok"


def test_nothing_that_builds_or_installs_is_left(run: Run, image: Image) -> None:
    assert "No module named pip" in run("-m", "pip", "--version").stderr
    assert not list(image.prefix.glob("bin/pip*"))
    packages = {path.name for path in image.prefix.glob("lib/python*/site-packages/*.dist-info")}
    assert not [name for name in packages if name.startswith(("pip", "setuptools", "hatchling", "pytest", "wheel"))]
    assert [name for name in packages if name.startswith("stowplan-")]


def test_the_program_is_where_the_image_looks_for_it(image: Image) -> None:
    assert image.final.environment["PATH"].startswith("/opt/stowplan/bin:")
    assert image.final.all("COPY") == ["--from=build /opt/stowplan /opt/stowplan"]
    assert image.final.all("ENTRYPOINT") == ['["stowplan"]']
    assert (image.prefix / "bin" / "stowplan").is_file()
    assert image.final.all("USER") == [f"{USER}:{USER}"]


def test_the_base_is_pinned_by_digest() -> None:
    text = DOCKERFILE.read_text()
    (base,) = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+-slim@sha256:[0-9a-f]{64}", base)
    assert [stage.base.split()[0] for stage in stages(text)] == ["${BASE}", "${BASE}"]
    assert f"Python :: {base[7:].partition('-')[0]}" in (DOCKERFILE.parents[1] / "pyproject.toml").read_text()


def test_packages_of_the_image_are_installed_with_hashes() -> None:
    build_stage, _ = stages(DOCKERFILE.read_text())
    installs = [text for text in build_stage.runs if " install " in text]
    assert len(installs) == 3
    for text in installs:
        assert ("--require-hashes -r ${LOCKS}/" in text) != ("--no-deps ${BUILD}/wheels/*.whl" in text)
    assert all("--no-build-isolation" in text for text in build_stage.runs if " wheel " in text)
