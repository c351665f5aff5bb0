import io
import time
from collections.abc import Callable

import pytest

from stowplan.cli import progress as module
from stowplan.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_screen(monkeypatch: pytest.MonkeyPatch, work: Callable[[], None], delay: float = 0.01) -> str:
    """Output of work on standard error, a terminal; set up here, since pytest replaces it before each test."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "BAR_DELAY_SECONDS", delay)
    work()
    return screen.getvalue()


def work(seconds: float) -> None:
    with Progress() as progress:
        progress.start("reading")
        progress.start("placing", total=4)
        progress.reach(1)
        time.sleep(seconds)
        progress.reach(3)


def fail(seconds: float) -> None:
    with Progress() as progress:
        progress.start("dividing")
        time.sleep(seconds)
        raise ZeroDivisionError


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_screen(monkeypatch, lambda: work(0.0), delay=2.0) == ""


def test_slow_work_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_screen(monkeypatch, lambda: work(0.5))
    assert "placing" in shown
    assert "25%" in shown
    assert shown.endswith("\x1b[2K")


def test_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr("sys.stderr", file)
    monkeypatch.setattr(module, "BAR_DELAY_SECONDS", 0.01)
    work(0.1)
    assert file.getvalue() == ""


def test_it_is_gone_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        with pytest.raises(ZeroDivisionError):
            fail(0.3)

    shown = on_screen(monkeypatch, failing)
    assert "dividing" in shown
    assert shown.endswith("\x1b[2K")


def test_one_that_is_still_is_there_from_the_start_and_makes_room_for_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def measuring() -> None:
        with Progress(still=True) as progress:
            progress.start("measuring", total=2)
            progress.write_line("the first line")
            progress.reach(1)

    shown = on_screen(monkeypatch, measuring, delay=60.0)
    assert "50%" in shown
    before, after = shown.split("the first line\n")
    assert before.endswith("\x1b[2K")
    assert "measuring" in after


def test_lines_go_to_files_without_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(still=True) as progress:
        progress.start("measuring", total=2)
        progress.write_line("a step")
        progress.write_line(b"a result", err=False)
    assert capsys.readouterr() == ("a result\n", "a step\n")
