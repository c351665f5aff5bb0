"""The browser of the tests: Debian's Chromium, and axe-core, which finds violations of accessibility rules.

Playwright drives the installed Chromium; it downloads no browser. axe-core comes from npm into the cache folder and is
never part of a release.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from stowplan.testing.binaries import cache_folder

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--disable-dev-shm-usage", "--force-color-profile=srgb", "--font-render-hinting=none")
AXE_PACKAGE = "axe-core@4.14.0"
AXE_SHA256 = "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878"
INSTALL_SECONDS = 600


def find_chromium() -> str | None:
    """The path of Chromium: `$STOWPLAN_CHROMIUM`, or the first of the usual names in PATH."""
    named = os.environ.get("STOWPLAN_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def launch_arguments() -> list[str]:
    """Chromium's sandbox needs user namespaces, which root in a container does not have."""
    return [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def axe_file() -> Path:
    """Where axe-core is kept between runs."""
    return cache_folder().parent.parent / "axe-core" / AXE_PACKAGE / "axe.min.js"


def install(report: Callable[[str], None]) -> bool:
    """Installs what is missing, where apt and root are there, and npm. Whether everything is there now."""
    if find_chromium() is None:
        if os.geteuid() == 0 and shutil.which("apt-get"):
            report("installing Debian's chromium")
            _run("apt-get", "update", "-qq")
            _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium")
        else:
            report("Chromium is missing, and only root installs it, with apt-get install chromium")
    if not axe_file().is_file():
        if shutil.which("npm"):
            _fetch_axe()
        else:
            report(f"{AXE_PACKAGE} is missing, and npm, which fetches it, too")
    return find_chromium() is not None and axe_file().is_file()


def _fetch_axe() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _run("npm", "pack", "--silent", AXE_PACKAGE, cwd=folder)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member is not None
            content = member.read()
    if hashlib.sha256(content).hexdigest() != AXE_SHA256:
        raise RuntimeError(f"axe.min.js of {AXE_PACKAGE} has another hash than expected")
    path = axe_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


def _run(*command: str, cwd: str | None = None) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, check=True, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, timeout=INSTALL_SECONDS)
