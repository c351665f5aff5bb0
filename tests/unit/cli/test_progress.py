import io
import time

import pytest

from stowplan.cli import progress as module
from stowplan.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


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


def test_quick_work_shows_nothing(screen: io.StringIO) -> None:
    work(0.0)
    assert screen.getvalue() == ""


def test_slow_work_shows_a_bar(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    work(0.5)
    assert "placing" in screen.getvalue()
    assert "25%" in screen.getvalue()


def test_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr("sys.stderr", file)
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    work(0.1)
    assert file.getvalue() == ""


def test_it_is_gone_when_the_work_fails(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    with pytest.raises(ZeroDivisionError):
        fail(0.3)
    before = screen.getvalue()
    time.sleep(0.2)
    assert screen.getvalue() == before
