"""Recordings can be read by their owner only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowplan.errors import InputError
from stowplan.traces.cluster_recording import ClusterRecording, RecordingWriter
from stowplan.traces.private_files import open_private


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def record(file: Path) -> None:
    RecordingWriter(file, "test", lambda: 0.0, 2**20).close()


@pytest.mark.parametrize("before", [None, 0o644, 0o600, 0o666])
def test_a_recording_is_private_also_where_the_file_exists(tmp_path: Path, before: int | None) -> None:
    file = tmp_path / "r.gz"
    if before is not None:
        file.write_bytes(b"x" * 10_000)
        file.chmod(before)
    record(file)
    assert mode(file) == 0o600
    assert file.stat().st_size < 10_000
    assert ClusterRecording(file).header.source == "test"


def test_a_recording_does_not_follow_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious\n")
    (tmp_path / "r.gz").symlink_to(tmp_path / "target")
    with pytest.raises(InputError, match=r"r\.gz: Symbolic links are not followed$"):
        record(tmp_path / "r.gz")
    assert (tmp_path / "target").read_bytes() == b"precious\n"


@pytest.mark.parametrize("append", [True, False])
def test_the_file_of_another_user_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, append: bool) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"precious\n")
    file.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="The file belongs to another user"):
        open_private(file, append=append)
    assert (file.read_bytes(), mode(file)) == (b"precious\n", 0o644)
