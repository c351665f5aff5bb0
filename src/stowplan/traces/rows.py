"""Rows of delimited text files, with errors that name file, line and column; lines and numbers are bounded."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import IO

from stowplan.errors import InputError, os_error_text
from stowplan.traces.records import MAX_AMOUNT

MAX_LINE_CHARS = 1 << 24
MAX_TEXT_CHARS = 1 << 30
"""Of a file that is read as a whole."""
_UNREADABLE = (OSError, EOFError, zlib.error, UnicodeDecodeError)


class Row:
    """One row of a table."""

    __slots__ = ("_columns", "_path", "line", "values")

    def __init__(self, path: Path, columns: dict[str, int], line: int, values: Sequence[str]) -> None:
        self._path = path
        self._columns = columns
        self.line = line
        self.values = values

    def text(self, column: str, default: str = "") -> str:
        """The value without surrounding spaces; `default` for a column that the file lacks."""
        index = self._columns.get(column)
        return default if index is None else self.values[index].strip()

    def number(self, column: str, default: float | None = None) -> float:
        """The value as a finite number; `default` for an empty value or a missing column."""
        text = self.text(column)
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            raise self.error(f"{column} is not a number: {text[:40]!r}") from None
        if not isfinite(value):
            raise self.error(f"{column} is not a finite number: {text!r}")
        return value

    def amount(self, column: str, factor: float = 1, default: float | None = None) -> int:
        """The value times a factor, which must not be negative."""
        return amount(self.where, column, self.number(column, default), factor)

    def duration(self, start: float, end: float, names: str) -> float:
        """The time from start to end; `names` describes both in the error for a negative duration."""
        if end < start:
            raise self.error(f"negative duration, {names} runs from {start:.15g} to {end:.15g}")
        return end - start

    @property
    def where(self) -> str:
        return f"{self._path}:{self.line}"

    def error(self, problem: str) -> InputError:
        return InputError(f"{self.where}: {problem}")


def amount(where: str, name: str, value: object, factor: float = 1) -> int:
    """A number of a file times a factor, as an amount of a resource."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise InputError(f"{where}: {name} is not a finite number: {str(value)[:40]!r}")
    if value < 0:
        raise InputError(f"{where}: {name} is negative: {value}")
    if value * factor > MAX_AMOUNT:
        raise InputError(f"{where}: {name} is too large: {value:g}")
    return round(value * factor)


def read_rows(path: Path, required: Sequence[str], header: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a CSV file, gzipped if it ends in .gz. `header` names the columns of a file without a header."""
    with open_text(path) as file:
        lines = csv.reader(_bounded(path, file))
        try:
            names = list(header) if header is not None else [name.strip() for name in next(lines, [])]
        except csv.Error as problem:
            raise InputError(f"{path}:1: {problem}") from None
        missing = [name for name in required if name not in names]
        if missing:
            raise InputError(f"{path}: missing columns: {', '.join(missing)}")
        columns = {name: index for index, name in enumerate(names)}
        width = max((columns[name] for name in required), default=-1) + 1 if header is not None else len(names)
        try:
            for values in lines:
                if not values:
                    continue
                if len(values) < width:
                    raise InputError(f"{path}:{lines.line_num}: {len(values)} columns instead of {len(names)}")
                yield Row(path, columns, lines.line_num, values + [""] * (len(names) - len(values)))
        except csv.Error as problem:
            raise InputError(f"{path}:{lines.line_num}: {problem}") from None


def open_text(path: Path) -> IO[str]:
    """Open a text file, gzipped if it ends in .gz."""
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as problem:
        raise InputError(f"{path}: {os_error_text(problem)}") from problem


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line) of a text file, without surrounding spaces."""
    with open_text(path) as file:
        for number, line in enumerate(_bounded(path, file), 1):
            yield number, line.strip()


def read_text(path: Path) -> str:
    """The whole file."""
    with open_text(path) as file:
        try:
            text = file.read(MAX_TEXT_CHARS + 1)
        except _UNREADABLE as problem:
            raise InputError(f"{path}: cannot be read: {problem}") from None
    if len(text) > MAX_TEXT_CHARS:
        raise InputError(f"{path}: larger than the allowed {MAX_TEXT_CHARS:,} characters")
    return text


def _bounded(path: Path, file: IO[str]) -> Iterator[str]:
    """The lines; a compressed file may have one of any length."""
    number = 0
    try:
        while line := file.readline(MAX_LINE_CHARS + 1):
            number += 1
            if len(line) > MAX_LINE_CHARS:
                raise InputError(f"{path}:{number}: a line of more than {MAX_LINE_CHARS:,} characters")
            yield line
    except _UNREADABLE as problem:
        raise InputError(f"{path}: cannot be read: {problem}") from None


def find_file(source: Path, *names: str) -> Path:
    """The first of the files that exists, plain or with .gz; `source` is a folder or the file itself."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise InputError(f"{source}: no such file or folder")
    for name in names:
        for candidate in (source / name, source / f"{name}.gz"):
            if candidate.is_file():
                return candidate
    raise InputError(f"{source}: no file {' or '.join(names)} (or with .gz)")
