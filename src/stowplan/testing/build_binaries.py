"""Building the binaries of a control plane from Go modules.

Each folder in `controlplane/` is a Go module that requires the modules to build, with pinned versions (go.mod) and
checksums (go.sum). They are package data, so that binaries can be built from an installed wheel. Kubernetes takes its
staging modules from folders of its repository; here, go.mod replaces them by the published versions.
"""

import fcntl
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from stowplan.testing.binaries import (
    BUILDABLE,
    ETCD_VERSION,
    HELM_VERSION,
    LATEST_RELEASE,
    NEEDED,
    cache_folder,
    find,
    kubernetes_version,
    release,
)
from stowplan.testing.errors import UnavailableError
from stowplan.testing.toolchain import Go, find_go

MODULES = Path(__file__).parent / "controlplane"
PROGRESS_SECONDS = 15.0
LAST_LINES = 15

Report = Callable[[str], None]


class Recipe(NamedTuple):
    """Source of a binary: a folder in `controlplane/`, a package that its go.mod requires, its version."""

    module: str
    package: str
    version: str
    mod_file: str = ""
    """The module file of an earlier release, in the same folder; empty for go.mod."""


def recipes(env: Mapping[str, str] = os.environ) -> dict[str, Recipe]:
    """The sources of all binaries, for the selected release of Kubernetes."""
    version, mod_file = kubernetes_version(env), "" if release(env) == LATEST_RELEASE else f"{release(env)}.mod"
    return {
        **{name: Recipe("kubernetes", f"k8s.io/kubernetes/cmd/{name}", version, mod_file) for name in BUILDABLE},
        "etcd": Recipe("etcd", "go.etcd.io/etcd/server/v3", ETCD_VERSION),
        "helm": Recipe("helm", "helm.sh/helm/v3/cmd/helm", HELM_VERSION),
    }


def linker_flags(version: str) -> str:
    """Flags that set the version of the binaries. Without it the server calls itself v0.0.0-master, and clients
    complain; helm takes a cluster that it does not see for one of years ago."""
    major, minor = version.removeprefix("v").split(".")[:2]
    stamps = {
        "k8s.io/component-base/version.gitVersion": version,
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": major,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
    }
    return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in stamps.items())])


def build(names: Iterable[str] = NEEDED, *, report: Report, env: Mapping[str, str] = os.environ) -> None:
    """Build missing binaries into the cache folder. `report` receives lines of progress."""
    missing = [name for name in names if not find(name, env)]
    if not missing:
        return
    go = find_go(MODULES / "kubernetes", env)
    folder = cache_folder(env)
    folder.mkdir(parents=True, exist_ok=True)
    with _only_builder(folder, report):
        for name in missing:
            if not find(name, env):
                _build_one(name, go, folder, report, env)


@contextmanager
def _only_builder(folder: Path, report: Report) -> Iterator[None]:
    """Keep others from building at the same time. The lock ends with the process, however that ends."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another process is building the control plane: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def command(name: str, go: Go, output: Path, env: Mapping[str, str] = os.environ) -> list[str]:
    """The command that builds one of them; `-v` makes it name the packages that it compiles."""
    recipe = recipes(env)[name]
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-v", "-ldflags", linker_flags(kubernetes_version(env))]
    if recipe.mod_file:
        flags.append(f"-modfile={recipe.mod_file}")
    return [go.path, "build", *flags, "-o", str(output), recipe.package]


def _build_one(name: str, go: Go, folder: Path, report: Report, env: Mapping[str, str]) -> None:
    recipe = recipes(env)[name]
    report(f"{name}: building {recipe.version} with {go.version}; the first time takes minutes")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}.") as workshop:
        output = Path(workshop) / name
        surroundings = {**env, "CGO_ENABLED": "0", "GOWORK": "off"}
        _run(name, command(name, go, output, env), MODULES / recipe.module, surroundings, report)
        target = folder / name
        output.replace(target)
    report(f"{name}: {target}, {target.stat().st_size >> 20} MiB, took {time.monotonic() - started:.0f} s")


def _run(name: str, arguments: list[str], cwd: Path, env: Mapping[str, str], report: Report) -> None:
    """Run the build and report its progress; an error has the last lines of its output."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    started = reported = time.monotonic()
    with subprocess.Popen(
        arguments, cwd=cwd, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for count, line in enumerate(process.stderr, 1):
            last.append(line.rstrip())
            if time.monotonic() - reported >= PROGRESS_SECONDS:
                reported = time.monotonic()
                report(f"{name}: {count} packages after {reported - started:.0f} s")
    if process.returncode:
        raise UnavailableError("\n".join([f"{name}: go build failed with status {process.returncode}", *last]))
