"""Tables of a result: rows are written as the run goes on, and kept compressed on disk once there are many."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any
from weakref import finalize

import msgspec
import numpy as np
from numpy.typing import NDArray

_ROWS_PER_BLOCK = 4096
_MAX_BYTES_IN_MEMORY = 2**20
_COMPRESSION_LEVEL = 1
_SHOWN_ROWS = 10


class ResultTable:
    """Columns by name. Memory does not grow with the number of rows."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[bytes | tuple[int, int]] = []
        """Compressed blocks, or offset and length of those on disk."""
        self._length = self._size = 0
        self._file: Any = None

    def append(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        self._length += 1
        if len(self._rows) == _ROWS_PER_BLOCK:
            self._keep(zlib.compress(msgspec.msgpack.encode(list(zip(*self._rows, strict=True))), _COMPRESSION_LEVEL))
            self._rows.clear()

    def _keep(self, block: bytes) -> None:
        self._size += len(block)
        if self._size <= _MAX_BYTES_IN_MEMORY:
            self._blocks.append(block)
            return
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115
            finalize(self, self._file.close)
        self._blocks.append((self._file.seek(0, 2), len(block)))
        self._file.write(block)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.name, self.columns, self._rows, list(self._packed()), self._length

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.name, self.columns, self._rows, self._blocks, self._length = state
        self._size, self._file = sum(map(len, state[3])), None

    def _packed(self) -> Iterator[bytes]:
        for block in self._blocks:
            if isinstance(block, bytes):
                yield block
            else:
                self._file.seek(block[0])
                yield self._file.read(block[1])

    def __len__(self) -> int:
        return self._length

    def blocks(self) -> Iterator[list[list[Any]]]:
        """The rows in blocks of columns."""
        for block in self._packed():
            yield msgspec.msgpack.decode(zlib.decompress(block))
        if self._rows:
            yield [list(column) for column in zip(*self._rows, strict=True)]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for block in self.blocks():
            yield from zip(*block, strict=True)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """A column: numbers as float64 with nan for missing values, texts as objects."""
        index = self.columns.index(column)
        texts: dict[Any, Any] = {}
        parts = [_array(block[index], texts) for block in self.blocks()]
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


def _array(values: list[Any], texts: dict[Any, Any]) -> NDArray[Any]:
    """Equal texts are one object, so that a column of few different texts takes 8 bytes a row."""
    if any(isinstance(value, str) for value in values):
        return np.array([texts.setdefault(value, value) for value in values], dtype=object)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
