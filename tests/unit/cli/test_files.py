import io
import sys
from pathlib import Path

import pytest

from stowplan.cli.files import opened, read, shown
from stowplan.errors import InputError


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"text")
    assert read(str(tmp_path / "f")) == b"text"
    assert shown("f") == "f"


def test_a_dash_is_standard_input_which_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"text"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert (read("-"), read("-")) == (b"text", b"")
    assert shown("-") == "<stdin>"


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^<stdin>: closed$"):
        read("-")


def test_what_goes_wrong_while_reading_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match=r"/f: Input/output error$"), opened(str(tmp_path / "f")):
        raise OSError(5, "Input/output error")
