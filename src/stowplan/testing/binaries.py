"""Finding the binaries of a control plane on this machine.

`$KUBEBUILDER_ASSETS` is a folder with `etcd`, `kube-apiserver` and `kubectl`, by the convention of controller-runtime's
tests, and determines the version. The cache folder is keyed by version; `testing.build_binaries` fills it.
`$STOWPLAN_RELEASE` selects another minor release of Kubernetes, such as v1.34.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from stowplan.testing.errors import UnavailableError

KUBERNETES_VERSIONS = {"v1.33": "v1.33.13", "v1.34": "v1.34.4", "v1.35": "v1.35.4", "v1.36": "v1.36.4"}
"""The patch release of each minor release; others may lack modules in the public module proxy."""
LATEST_RELEASE = "v1.36"
RELEASE_VARIABLE = "STOWPLAN_RELEASE"
ETCD_VERSION = "v3.6.8"
HELM_VERSION = "v3.21.4"

NEEDED = ("etcd", "kube-apiserver", "kube-scheduler")
"""The binaries that tests use."""

BUILDABLE = (*NEEDED, "kube-controller-manager", "kubectl", "helm")
"""The binaries that can be built: also kube-controller-manager, for benchmarks with ResourceClaims, kubectl, to inspect
a control plane, and helm, to install charts."""


OF_ANY_RELEASE = ("etcd", "helm")
"""Binaries that control planes of all releases share."""


def release(env: Mapping[str, str] = os.environ) -> str:
    """The minor release of Kubernetes, such as v1.36."""
    wanted = env.get(RELEASE_VARIABLE) or LATEST_RELEASE
    named = wanted if wanted.startswith("v") else f"v{wanted}"
    if named not in KUBERNETES_VERSIONS:
        raise UnavailableError(f"${RELEASE_VARIABLE} is {wanted}: it can be {', '.join(KUBERNETES_VERSIONS)}")
    return named


def kubernetes_version(env: Mapping[str, str] = os.environ) -> str:
    """The version of Kubernetes whose binaries are used."""
    return KUBERNETES_VERSIONS[release(env)]


def cache_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Where the binaries of these versions are kept between runs."""
    root = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "stowplan" / "control-plane" / f"{kubernetes_version(env)}-etcd{ETCD_VERSION.removeprefix('v')}"


def find(name: str, env: Mapping[str, str] = os.environ) -> Path | None:
    """The path of a binary, or None."""
    assets = env.get("KUBEBUILDER_ASSETS")
    folders = [*([assets] if assets else []), str(cache_folder(env))]
    if name in OF_ANY_RELEASE:
        folders.append(str(cache_folder({**env, RELEASE_VARIABLE: ""})))
    folders.append(env.get("PATH", os.defpath))
    found = shutil.which(name, path=os.pathsep.join(folders))
    return Path(found).absolute() if found else None


def require(names: Iterable[str], env: Mapping[str, str] = os.environ) -> list[Path]:
    """The binaries of these names, in order."""
    paths = {name: find(name, env) for name in names}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        raise UnavailableError(
            f"{', '.join(missing)}: not in $KUBEBUILDER_ASSETS, {cache_folder(env)} or PATH; "
            "`python -m stowplan.testing build` builds what is missing"
        )
    return [path for path in paths.values() if path is not None]
