"""Sequences of records that convert to data frames."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from stowplan.errors import StowplanError
from stowplan.library.html import table

T = TypeVar("T")

_MAX_SHOWN_ROWS = 20


class MissingPackageError(StowplanError):
    """A conversion needs a package that is not installed."""


class Records(Sequence[T], Generic[T]):
    """An immutable sequence of structs. Notebooks show it as a table."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Records[T]: ...

    def __getitem__(self, index: int | slice) -> T | Records[T]:
        return Records(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return f"<{len(self)} records>" if len(self) > _MAX_SHOWN_ROWS else f"Records({list(self._items)!r})"

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, one dict for each record: fields of nested records and maps get names with a dot
        (`requests.cpu`)."""
        return [_flat(item) for item in self._items]

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; raises MissingPackageError without pandas."""
        return _package("pandas").DataFrame.from_records(_even(self.rows()))

    def to_polars(self) -> Any:
        """A `polars.DataFrame`; raises MissingPackageError without polars."""
        return _package("polars").from_dicts(_even(self.rows()), infer_schema_length=None)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; raises MissingPackageError without pyarrow."""
        return _package("pyarrow").Table.from_pylist(_even(self.rows()))

    def _repr_html_(self) -> str:
        rows = _even([_flat(item, shown=True) for item in self._items[:_MAX_SHOWN_ROWS]])
        heads = [name for name in (rows[0] if rows else ()) if any(row[name] not in (None, "", []) for row in rows)]
        more = len(self) - _MAX_SHOWN_ROWS
        return table(heads, [[row[name] for name in heads] for row in rows], f"and {more:,} more" if more > 0 else "")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(f"this conversion needs the package {name}: pip install {name}") from error


def _even(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the same keys, in the order of their first appearance."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _flat(item: Any, prefix: str = "", *, shown: bool = False) -> dict[str, Any]:
    """The fields of a record; decision records, which are JSON of any depth, are left out."""
    pairs: Iterable[tuple[str, Any]]
    if isinstance(item, msgspec.Struct):
        pairs = ((name, getattr(item, name)) for name in item.__struct_fields__)
    else:
        pairs = item.items()
    row: dict[str, Any] = {}
    for name, value in pairs:
        if isinstance(value, bytes | msgspec.Raw) or (shown and name == "requests"):
            continue
        if isinstance(value, dict | msgspec.Struct):
            row |= _flat(value, f"{prefix}{name}.", shown=shown)
        elif isinstance(value, tuple | list):
            row[prefix + name] = [msgspec.to_builtins(part) for part in value]
        else:
            row[prefix + name] = value
    return row
