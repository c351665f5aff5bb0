"""Tables of a result: rows are written as the run goes on, and kept compressed on disk once there are many."""

from __future__ import annotations

import importlib
import zlib
from array import array
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from weakref import finalize

import msgspec
import numpy as np
from numpy.typing import NDArray

_ROWS_PER_BLOCK = 4096
_MAX_BYTES_IN_MEMORY = 2**20
_COMPRESSION_LEVEL = 1
_PROBED_ROWS = 256
_SHOWN_ROWS = 10
_FLOATS, _OTHERS = b"f", b"o"
"""The last byte of a column's data: what it consists of."""


class _StoredBlock(NamedTuple):
    """A block on disk: where it begins, and the lengths of its columns."""

    offset: int
    lengths: array[int]


class ResultTable:
    """Columns by name. Memory does not grow with the number of rows.

    Rows are kept in blocks, in which each column is compressed by itself, so that it is read without the others.
    """

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[tuple[bytes, ...] | _StoredBlock] = []
        self._length = self._size = 0
        self._file: Any = None
        self._texts: frozenset[str] = frozenset()
        """Columns with texts in the blocks."""

    def append(self, row: tuple[Any, ...]) -> None:
        rows = self._rows
        rows.append(row)
        self._length += 1
        if len(rows) == _ROWS_PER_BLOCK:
            self._texts = self.text_columns()
            self._keep(tuple(map(_packed, zip(*rows, strict=True))))
            rows.clear()

    def _keep(self, block: tuple[bytes, ...]) -> None:
        lengths = array("I", map(len, block))
        self._size += sum(lengths)
        if self._size <= _MAX_BYTES_IN_MEMORY:
            self._blocks.append(block)
            return
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115
            finalize(self, self._file.close)
        self._blocks.append(_StoredBlock(self._file.seek(0, 2), lengths))
        self._file.write(b"".join(block))

    def __getstate__(self) -> tuple[Any, ...]:
        every = range(len(self.columns))
        blocks = [tuple(each) for each in self._packed(every)]
        return self.name, self.columns, self._rows, blocks, self._length, self._texts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.name, self.columns, self._rows, self._blocks, self._length, self._texts = state
        self._size, self._file = sum(len(column) for block in state[3] for column in block), None

    def _packed(self, indices: Sequence[int]) -> Iterator[list[bytes]]:
        """The compressed columns with these numbers, block by block."""
        for block in self._blocks:
            if isinstance(block, _StoredBlock):
                yield [self._read(block, index) for index in indices]
            else:
                yield [block[index] for index in indices]

    def _read(self, block: _StoredBlock, index: int) -> bytes:
        self._file.seek(block.offset + sum(block.lengths[:index]))
        found: bytes = self._file.read(block.lengths[index])
        return found

    def __len__(self) -> int:
        return self._length

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[list[list[Any]]]:
        """The rows in blocks of columns, of all columns unless some are named."""
        indices = [self.columns.index(name) for name in (self.columns if columns is None else columns)]
        for packed in self._packed(indices):
            yield [_values(zlib.decompress(column)) for column in packed]
        if self._rows:
            yield [[row[index] for row in self._rows] for index in indices]

    def arrays(self, columns: Sequence[str]) -> Iterator[list[NDArray[Any]]]:
        """The named columns in blocks, each as `__getitem__` returns it."""
        indices = [self.columns.index(name) for name in columns]
        for packed in self._packed(indices):
            yield [_unpacked_array(zlib.decompress(column)) for column in packed]
        if self._rows:
            yield [_array([row[index] for row in self._rows]) for index in indices]

    def text_columns(self) -> frozenset[str]:
        """Columns with a text in any row."""
        columns = zip(self.columns, zip(*self._rows, strict=True), strict=False)
        return self._texts | {name for name, values in columns if name not in self._texts and str in map(type, values)}

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for block in self.blocks():
            yield from zip(*block, strict=True)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """A column: numbers as float64 with nan for missing values, texts as objects."""
        texts: dict[Any, Any] = {}
        parts = [_array(values, texts) for (values,) in self.blocks((column,))]
        if not parts:
            return np.empty(0)
        kind = object if any(part.dtype == object for part in parts) else np.float64
        return np.concatenate([part.astype(kind, copy=False) for part in parts])

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
        from stowplan.study.files import arrow_reader

        return arrow_reader(self).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        shown = []
        for number, row in enumerate(self.rows()):
            if number == _SHOWN_ROWS:
                break
            shown.append("<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>")
        return f"<table><tr>{head}</tr>{''.join(shown)}</table><p>{len(self):,} rows</p>"


def _packed(column: tuple[Any, ...]) -> bytes:
    """A compressed column. Floats are stored as they are in memory, from where arrays are made without objects."""
    if isinstance(column[0], float) and set(map(type, column)) == {float}:
        # Different floats, such as times, take long to compress, and hardly become smaller.
        is_varied = len(set(column[:_PROBED_ROWS])) > _PROBED_ROWS / 2
        return zlib.compress(array("d", column).tobytes() + _FLOATS, 0 if is_varied else _COMPRESSION_LEVEL)
    return zlib.compress(msgspec.msgpack.encode(column) + _OTHERS, _COMPRESSION_LEVEL)


def _values(data: bytes) -> list[Any]:
    if data.endswith(_FLOATS):
        return list(memoryview(data)[:-1].cast("d"))
    found: list[Any] = msgspec.msgpack.decode(memoryview(data)[:-1])
    return found


def _unpacked_array(data: bytes) -> NDArray[Any]:
    if data.endswith(_FLOATS):
        return np.frombuffer(data, dtype=np.float64, count=len(data) // 8)
    return _array(_values(data))


def _array(values: list[Any], texts: dict[Any, Any] | None = None) -> NDArray[Any]:
    """With `texts`, equal texts are one object, so that a column of few different texts takes 8 bytes a row."""
    if str not in set(map(type, values)):
        return np.array(values, dtype=np.float64)
    return np.array(values if texts is None else [texts.setdefault(value, value) for value in values], dtype=object)
