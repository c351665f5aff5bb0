import io
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from stowplan.cli.streams import aligned, opened, peek, print_lines, read, shown
from stowplan.errors import InputError

LINES = [Text("a" * 100, "bold"), Text("[not markup]")]


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"text")
    assert read(str(tmp_path / "f")) == b"text"
    assert shown("f") == "f"


def test_a_file_may_be_too_large(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert read(str(tmp_path / "f"), max_bytes=5) == b"12345"
    with pytest.raises(InputError, match=r"/f: larger than the allowed 4 bytes$"):
        read(str(tmp_path / "f"), max_bytes=4)


def test_a_dash_is_standard_input_which_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"text"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert (read("-"), read("-")) == (b"text", b"")
    assert shown("-") == "<stdin>"


def test_first_bytes_are_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"abc")
    assert peek(str(file), 2) == b"ab"
    with file.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert peek("-", 2).startswith(b"ab")
        assert read("-") == b"abc"


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^<stdin>: closed$"):
        read("-")


def test_io_errors_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match=r"/f: Input/output error$"), opened(str(tmp_path / "f")):
        raise OSError(5, "Input/output error")


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("a", "10", "x"), ("bcd", "7", "yz")], left=(0, 2)) == ["a    10  x ", "bcd   7  yz"]


def test_on_a_terminal_styles_show_and_lines_stay_whole() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=40, color_system="standard")
    print_lines(console, LINES)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == f"\x1b[1m{'a' * 100}\x1b[0m\n[not markup]\n"


def test_elsewhere_there_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(Console(file=io.StringIO(), force_terminal=False), LINES)
    assert capsys.readouterr().out == f"{'a' * 100}\n[not markup]\n"
