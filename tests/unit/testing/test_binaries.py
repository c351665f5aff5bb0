"""Where the binaries of a control plane are looked for."""

from pathlib import Path

import pytest

from stowplan.testing.binaries import cache_folder, find, require
from stowplan.testing.errors import UnavailableError


def put(folder: Path, name: str = "etcd") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    binary = folder / name
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    return binary


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        "KUBEBUILDER_ASSETS": str(tmp_path / "assets"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": str(tmp_path / "path"),
    }


def test_assets_then_cache_then_path(tmp_path: Path, env: dict[str, str]) -> None:
    assert find("etcd", env) is None
    on_path = put(tmp_path / "path")
    assert find("etcd", env) == on_path
    cached = put(cache_folder(env))
    assert find("etcd", env) == cached
    chosen = put(tmp_path / "assets")
    assert find("etcd", env) == chosen
    del env["KUBEBUILDER_ASSETS"]
    assert find("etcd", env) == cached


def test_a_file_that_cannot_be_run_is_no_binary(tmp_path: Path, env: dict[str, str]) -> None:
    put(tmp_path / "path").chmod(0o644)
    assert find("etcd", env) is None


def test_the_cache_is_keyed_by_version(tmp_path: Path, env: dict[str, str]) -> None:
    assert cache_folder(env) == tmp_path / "cache/stowplan/control-plane/v1.36.4-etcd3.6.8"
    assert cache_folder({}) == Path.home() / ".cache/stowplan/control-plane/v1.36.4-etcd3.6.8"


def test_required_ones_come_in_order(tmp_path: Path, env: dict[str, str]) -> None:
    binaries = [put(tmp_path / "path", name) for name in ("kube-scheduler", "etcd")]
    assert require(["kube-scheduler", "etcd"], env) == binaries


def test_what_is_missing_is_named_with_the_remedy(tmp_path: Path, env: dict[str, str]) -> None:
    put(tmp_path / "path", "etcd")
    with pytest.raises(UnavailableError, match=r"^kube-apiserver: not in .*python -m stowplan\.testing build"):
        require(["etcd", "kube-apiserver"], env)
