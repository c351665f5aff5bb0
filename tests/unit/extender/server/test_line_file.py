"""Files of lines are private from their first byte."""

import os
import stat
from pathlib import Path

import pytest

from stowplan.errors import ConfigError
from stowplan.extender.server.line_file import LineFile


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def written(path: Path, line: bytes) -> None:
    file = LineFile(str(path))
    file.put(lambda: [line])
    file.close()


@pytest.fixture(autouse=True)
def _open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def test_only_the_owner_reads_a_new_file(tmp_path: Path) -> None:
    written(tmp_path / "x", b"a")
    assert mode(tmp_path / "x") == 0o600


def test_an_existing_file_is_narrowed_and_continued(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before\n")
    (tmp_path / "x").chmod(0o644)
    written(tmp_path / "x", b"after")
    assert (tmp_path / "x").read_bytes() == b"before\nafter\n"
    assert mode(tmp_path / "x") == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_symbolic_links_are_refused(tmp_path: Path, exists: bool) -> None:
    target = tmp_path / "target"
    if exists:
        target.write_bytes(b"precious\n")
    (tmp_path / "x").symlink_to(target)
    with pytest.raises(ConfigError, match=r"x: Symbolic links are not followed$"):
        LineFile(str(tmp_path / "x"))
    assert not exists or target.read_bytes() == b"precious\n"
    assert target.exists() == exists


def test_files_of_other_users_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").touch()
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / "x").stat().st_uid + 1)
    with pytest.raises(ConfigError, match=r"x: The file belongs to another user$"):
        LineFile(str(tmp_path / "x"))


def test_devices_are_left_as_they_are() -> None:
    before = mode(Path("/dev/null"))
    written(Path("/dev/null"), b"a")
    assert mode(Path("/dev/null")) == before


def test_standard_output_may_be_a_link(capfd: pytest.CaptureFixture[str]) -> None:
    written(Path("/dev/stdout"), b"a line")
    assert capfd.readouterr().out == "a line\n"
