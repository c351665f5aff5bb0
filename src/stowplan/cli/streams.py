"""Input files and printed lines; `-` is standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from stowplan.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STDIN = "-"
MAX_INPUT_BYTES = 2**30


def shown(name: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if name == STDIN else name


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Opens a file, or standard input, which stays open. I/O errors become InputError with the file's name."""
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


def peek(name: str, count: int) -> bytes:
    """The first bytes of a file, or of standard input, which keeps them. Raises InputError."""
    with opened(name) as stream:
        if name != STDIN:
            return stream.read(count)
        return stream.peek(count) if isinstance(stream, io.BufferedReader) else b""


def read(name: str, max_bytes: int = MAX_INPUT_BYTES) -> bytes:
    """The content of a file. Raises InputError if it cannot be read or is larger than `max_bytes`."""
    with opened(name) as stream:
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise InputError(f"{shown(name)}: larger than the allowed {max_bytes:,} bytes")
    return content


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Rows as lines with columns of equal width. Columns in `left` are left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def print_lines(console: Console, lines: Iterable[Text]) -> None:
    """Prints lines with colours on a terminal, and as plain, unwrapped text anywhere else."""
    if console.is_terminal:
        for line in lines:
            console.print(line, soft_wrap=True)
    else:
        click.echo("\n".join(line.plain for line in lines))


@contextmanager
def print_notes() -> Iterator[list[str]]:
    """Collects messages for the user, and prints them to standard error at the end, also if the command fails."""
    notes: list[str] = []
    try:
        yield notes
    finally:
        for note in notes:
            click.echo(f"stowplan: {note}", err=True)
