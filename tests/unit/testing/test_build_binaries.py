"""Building binaries, with a shell script in the place of Go."""

import threading
from pathlib import Path

import pytest

from stowplan.config.releases import RELEASES
from stowplan.testing.binaries import (
    BUILDABLE,
    ETCD_VERSION,
    KUBERNETES_VERSIONS,
    LATEST_RELEASE,
    RELEASE_VARIABLE,
    cache_folder,
    kubernetes_version,
)
from stowplan.testing.build_binaries import MODULES, build, recipes
from stowplan.testing.errors import UnavailableError
from stowplan.testing.waiting import wait_until

FAKE_GO = """\
#!/bin/sh
[ "$1" = env ] && { echo go1.26.8; exit; }
echo "$@" >> %(log)s
echo "$PWD CGO=$CGO_ENABLED" >> %(log)s
%(more)s
while [ "$1" != -o ]; do shift; done
echo '#!/bin/sh' > "$2"
chmod +x "$2"
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{tmp_path / 'bin'}:/bin"}


def put_go(tmp_path: Path, log: Path, more: str = "") -> None:
    (tmp_path / "bin").mkdir()
    go = tmp_path / "bin" / "go"
    go.write_text(FAKE_GO % {"log": log, "more": more})
    go.chmod(0o755)


def test_builds_what_is_missing_and_nothing_else(tmp_path: Path, env: dict[str, str], log: Path) -> None:
    put_go(tmp_path, log)
    lines: list[str] = []
    build(["etcd", "kube-apiserver"], report=lines.append, env=env)
    assert sorted(path.name for path in cache_folder(env).iterdir()) == [".lock", "etcd", "kube-apiserver"]
    commands = log.read_text().splitlines()
    assert commands[0].endswith("go.etcd.io/etcd/server/v3")
    assert commands[1] == f"{MODULES / 'etcd'} CGO=0"
    assert commands[2].endswith("k8s.io/kubernetes/cmd/kube-apiserver")
    assert commands[3] == f"{MODULES / 'kubernetes'} CGO=0"
    assert "-trimpath" in commands[2]
    assert "version.gitVersion=v1.36.4 -X k8s.io/component-base/version.gitMajor=1" in commands[2]
    assert "version.gitMinor=36" in commands[2]
    assert lines[0] == "etcd: building v3.6.8 with go1.26.8; the first time takes minutes"
    assert lines[1].startswith(f"etcd: {cache_folder(env) / 'etcd'}, ")

    lines.clear()
    build(["etcd", "kube-apiserver"], report=lines.append, env=env)
    assert lines == []
    assert log.read_text().splitlines() == commands


def test_a_failed_build_shows_its_last_lines_and_leaves_nothing(tmp_path: Path, env: dict[str, str], log: Path) -> None:
    put_go(tmp_path, log, more="echo missing go.sum entry >&2; exit 3")
    with pytest.raises(UnavailableError, match=r"etcd: go build failed with status 3\nmissing go\.sum entry"):
        build(["etcd"], report=lambda line: None, env=env)
    assert [path.name for path in cache_folder(env).iterdir()] == [".lock"]


def test_without_go_the_advice_is_given(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(UnavailableError, match="there is no `go` on PATH"):
        build(["etcd"], report=lambda line: None, env=env | {"PATH": str(tmp_path)})


def test_two_builds_at_once_build_once(tmp_path: Path, env: dict[str, str], log: Path) -> None:
    put_go(tmp_path, log, more=f"while [ ! -e {tmp_path}/go-on ]; do sleep 0.01; done")
    lines: list[str] = []
    threads = [
        threading.Thread(target=build, args=(["etcd"],), kwargs={"report": lines.append, "env": env}) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: "another process is building the control plane: waiting for it" in lines)
    (tmp_path / "go-on").touch()
    for thread in threads:
        thread.join()
    assert log.read_text().count("-trimpath") == 1


@pytest.mark.parametrize(
    ("name", "release"),
    # Benchmarks, which need kube-controller-manager, run on the latest release alone.
    [(n, r) for n in BUILDABLE for r in KUBERNETES_VERSIONS if n != "kube-controller-manager" or r == LATEST_RELEASE],
)
def test_go_mod_requires_what_the_recipe_says(name: str, release: str) -> None:
    recipe = recipes({RELEASE_VARIABLE: release})[name]
    mod_file = MODULES / recipe.module / (recipe.mod_file or "go.mod")
    go_mod = mod_file.read_text()
    module = {"etcd": "go.etcd.io/etcd/server/v3", "helm": "helm.sh/helm/v3"}.get(name, "k8s.io/kubernetes")
    assert f"{module} {recipe.version}" in go_mod
    assert recipe.package in go_mod
    assert f"{module} {recipe.version} h1:" in mod_file.with_suffix(".sum").read_text()


def test_versions_are_those_of_the_reference() -> None:
    assert (kubernetes_version({}), ETCD_VERSION) == ("v1.36.4", "v3.6.8")
    assert [release.patch for release in RELEASES.values()] == list(KUBERNETES_VERSIONS.values())


def test_an_earlier_release_has_a_module_file_and_a_folder_of_its_own(
    tmp_path: Path, env: dict[str, str], log: Path
) -> None:
    put_go(tmp_path, log)
    old = env | {RELEASE_VARIABLE: "1.34"}
    build(["etcd"], report=lambda line: None, env=env)
    build(["etcd", "kube-scheduler"], report=lambda line: None, env=old)
    assert sorted(path.name for path in cache_folder(old).iterdir()) == [".lock", "kube-scheduler"]
    assert cache_folder(old).name == "v1.34.4-etcd3.6.8"
    command = log.read_text().splitlines()[2]
    assert "-modfile=v1.34.mod" in command
    assert "version.gitVersion=v1.34.4" in command


def test_an_unknown_release_is_reported() -> None:
    with pytest.raises(UnavailableError, match=r"\$STOWPLAN_RELEASE is v1.32: it can be v1.33, v1.34, v1.35, v1.36"):
        kubernetes_version({RELEASE_VARIABLE: "v1.32"})
