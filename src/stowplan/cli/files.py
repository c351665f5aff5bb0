"""Files named on the command line; `-` is standard input."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from stowplan.errors import InputError

STDIN = "-"


def shown(name: str) -> str:
    """What messages call the file."""
    return "<stdin>" if name == STDIN else name


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """The file, or standard input, which stays open. What goes wrong with it while it is read names the file."""
    try:
        if name != STDIN:
            with open(name, "rb") as stream:
                yield stream
        elif sys.stdin is None:
            raise InputError(f"{shown(name)}: closed")
        else:
            yield sys.stdin.buffer
    except OSError as problem:
        raise InputError(f"{shown(name)}: {problem.strerror or problem}") from problem


def read(name: str) -> bytes:
    with opened(name) as stream:
        return stream.read()
