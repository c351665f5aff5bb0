"""Tables of a result: rows are written as the run goes on, and kept compressed on disk once there are many."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_ROWS_PER_BLOCK = 4096
_MAX_BYTES_IN_MEMORY = 8 * 2**20
_COMPRESSION_LEVEL = 1
_SHOWN_ROWS = 10


class ResultTable:
    """Columns by name. Memory does not grow with the number of rows."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[tuple[int, int]] = []
        """Offset and length of each compressed block."""
        self._length = 0
        self._spool: Any = SpooledTemporaryFile(max_size=_MAX_BYTES_IN_MEMORY)  # noqa: SIM115

    def append(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        self._length += 1
        if len(self._rows) == _ROWS_PER_BLOCK:
            block = zlib.compress(msgspec.msgpack.encode(list(zip(*self._rows, strict=True))), _COMPRESSION_LEVEL)
            offset = self._spool.seek(0, 2)
            self._spool.write(block)
            self._blocks.append((offset, len(block)))
            self._rows.clear()

    def __len__(self) -> int:
        return self._length

    def blocks(self) -> Iterator[list[list[Any]]]:
        """The rows in blocks of columns."""
        for offset, length in self._blocks:
            self._spool.seek(offset)
            yield msgspec.msgpack.decode(zlib.decompress(self._spool.read(length)))
        if self._rows:
            yield [list(column) for column in zip(*self._rows, strict=True)]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for block in self.blocks():
            yield from zip(*block, strict=True)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """A column: numbers as float64 with nan for missing values, texts as objects."""
        index = self.columns.index(column)
        parts = [_array(block[index]) for block in self.blocks()]
        if not parts:
            return np.empty(0)
        kind = object if any(part.dtype == object for part in parts) else np.float64
        return np.concatenate([part.astype(kind) for part in parts])

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def keys(self) -> tuple[str, ...]:
        """With this, `dict(table)` is what constructors of data frames take."""
        return self.columns

    def to_pandas(self) -> Any:
        """A pandas DataFrame, if pandas is installed."""
        return importlib.import_module("pandas").DataFrame({name: self[name] for name in self.columns})

    def to_polars(self) -> Any:
        """A polars DataFrame, if polars is installed."""
        return importlib.import_module("polars").DataFrame({name: self[name].tolist() for name in self.columns})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream; needs the extra `data`."""
        from stowplan.study.files import arrow_table

        return arrow_table(self).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        shown = []
        for number, row in enumerate(self.rows()):
            if number == _SHOWN_ROWS:
                break
            shown.append("<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>")
        return f"<table><tr>{head}</tr>{''.join(shown)}</table><p>{len(self):,} rows</p>"


def _array(values: list[Any]) -> NDArray[Any]:
    if any(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
