"""Colours on terminals only, and not with NO_COLOR."""

import os
import pty
import re
import subprocess
import sys

import pytest

COLOUR = re.compile(rb"\x1b\[(?:[0-9]+;)*(?:3[0-9]|4[0-9]|9[0-7])(?:;[0-9]+)*m")


def on_terminal(*args: str, **variables: str) -> bytes:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "120", **variables}
    command = [sys.executable, "-m", "stowplan", *args]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux reports the end of a pseudo terminal this way.
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    return written


@pytest.mark.slow
@pytest.mark.parametrize("args", [("simulate", "--sample"), ("demo", "--duration", "0.2")])
def test_colours(args: tuple[str, ...]) -> None:
    assert COLOUR.search(on_terminal(*args))
    plain = on_terminal(*args, NO_COLOR="1")
    assert plain
    assert not COLOUR.search(plain)
    piped = subprocess.run([sys.executable, "-m", "stowplan", *args], capture_output=True, check=False).stdout
    assert piped
    assert b"\x1b" not in piped
