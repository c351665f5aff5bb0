import io

import pytest
from rich.console import Console
from rich.text import Text

from stowplan.cli.printing import print_lines

LINES = [Text("a" * 100, "bold"), Text("[not markup]")]


def test_on_a_terminal_styles_show_and_lines_stay_whole() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=40, color_system="standard")
    print_lines(console, LINES)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == f"\x1b[1m{'a' * 100}\x1b[0m\n[not markup]\n"


def test_elsewhere_there_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(Console(file=io.StringIO(), force_terminal=False), LINES)
    assert capsys.readouterr().out == f"{'a' * 100}\n[not markup]\n"
