"""Files of a result: `run.json` and one file per table, Parquet with the extra `data`, else csv.gz."""

from __future__ import annotations

import csv
import errno
import gzip
import importlib
import io
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from stowplan._version import __version__
from stowplan.errors import InputError, MissingExtraError, os_error_text
from stowplan.study.metric_value import MetricValue
from stowplan.study.result import CheckedExpectation, RunResult
from stowplan.study.table import ResultTable

RUN_FILE = "run.json"
_MAX_ROW_GROUP_ROWS = 2**17
_INCOMPLETE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors in the middle of a file; others arise before it is changed."""
SUMMARY_COLUMNS = ("metric", "key", "value", "unit")


def run_document(result: RunResult) -> dict[str, Any]:
    """The content of `run.json`; `error` is there if the run is not complete."""
    return {
        "scenario": result.scenario,
        "seed": result.seed,
        "config": result.config,
        "digest": result.digest,
        "stowplan": __version__,
        "start": result.start,
        "end": result.end,
        **({"error": result.error} if result.error else {}),
        "rows": {name: len(table) for name, table in result.tables.items()},
        "summary": [_plain(each) for each in result.values],
        "expectations": [
            {"expect": each.text, "holds": each.holds, "found": each.found} for each in result.expectations
        ],
        "document": result.document,
    }


def _plain(value: MetricValue) -> dict[str, Any]:
    number = value.value if math.isfinite(value.value) else None
    return {"metric": value.metric, "key": value.key, "value": number, "unit": value.unit}


def results_folder(folder: str | Path) -> Path:
    """A folder for results, made if it is not there. Raises InputError if it cannot be made or written to."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except FileExistsError as error:
        raise InputError(f"{place}: not a folder") from error
    except OSError as error:
        raise InputError(f"{place}: {os_error_text(error)}") from error
    return place


def write_whole(file: Path, content: bytes) -> None:
    """Write a file. Raises OSError; a full disk leaves no incomplete file."""
    try:
        file.write_bytes(content)
    except OSError as error:
        if error.errno in _INCOMPLETE and file.is_file():
            file.unlink()
        raise


def save(result: RunResult, folder: Path) -> Path:
    """Write all files of a result. `run.json` is last, so a folder without it is not complete."""
    summary = ResultTable("summary", SUMMARY_COLUMNS)
    for value in result.values:
        summary.append((value.metric, value.key, value.value, value.unit))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RUN_FILE).unlink(missing_ok=True)
        for table in (*result.tables.values(), summary):
            _write_table(table, folder, result.digest)
        text = msgspec.json.format(msgspec.json.encode(run_document(result)), indent=1)
        (folder / RUN_FILE).write_bytes(text + b"\n")
    except OSError as error:
        raise InputError(f"{folder}: {os_error_text(error)}; the results there are not complete") from error
    return folder


def load_summary(folder: Path) -> tuple[dict[str, Any], list[MetricValue]]:
    """`run.json` of a folder, and its metrics. Raises InputError if the run is not complete."""
    file = folder / RUN_FILE
    try:
        document = msgspec.json.decode(file.read_bytes())
        rows = [
            MetricValue(each["metric"], each["key"], math.nan if each["value"] is None else each["value"], each["unit"])
            for each in document["summary"]
        ]
    except OSError as error:
        raise InputError(f"{file}: {os_error_text(error)}") from error
    except (msgspec.DecodeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{file}: not a result of a run") from error
    if document.get("error"):
        raise InputError(f"{file}: the run is not complete: {document['error']}")
    return document, rows


def has_parquet() -> bool:
    """Whether the extra `data` is installed."""
    try:
        importlib.import_module("arro3.core")
        importlib.import_module("arro3.io")
    except ImportError:
        return False
    return True


def _write_table(table: ResultTable, folder: Path, run: str) -> None:
    if has_parquet():
        _write_parquet(table, folder / f"{table.name}.parquet", run)
        return
    with (
        (folder / f"{table.name}.csv.gz").open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=4) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("run", *table.columns))
        for row in table.rows():
            writer.writerow((run, *row))


class _LateErrorFile:
    """A file that keeps the first OSError for `close`: of a full disk, the Parquet writer would make a panic."""

    def __init__(self, file: Path) -> None:
        self._stream = file.open("wb")
        self._error: OSError | None = None

    def write(self, data: bytes) -> int:
        if self._error is None:
            try:
                self._stream.write(data)
            except OSError as error:
                self._error = error
        return len(data)

    def flush(self) -> None: ...

    def seek(self, offset: int, whence: int = 0) -> int:
        """Only asked for; the writer does not move."""
        raise io.UnsupportedOperation("seek")

    def close(self) -> None:
        try:
            self._stream.close()
        except OSError as error:
            self._error = self._error or error
        if self._error is not None:
            raise self._error


def _write_parquet(table: ResultTable, file: Path, run: str) -> None:
    """Blocks are written one by one, so that memory does not depend on the number of rows."""
    stream = _LateErrorFile(file)
    try:
        importlib.import_module("arro3.io").write_parquet(
            arrow_reader(table, run), stream, compression="zstd(3)", max_row_group_size=_MAX_ROW_GROUP_ROWS
        )
    finally:
        stream.close()


def arrow_reader(table: ResultTable, run: str = "") -> Any:
    """The table as a stream of Arrow batches; needs the extra `data`."""
    try:
        core = importlib.import_module("arro3.core")
    except ImportError as error:
        raise MissingExtraError("Arrow and Parquet need the extra `data`", "data") from error
    texts = table.text_columns() | {"run"}
    names = (*(("run",) if run else ()), *table.columns)
    types = {name: core.DataType.utf8() if name in texts else core.DataType.float64() for name in names}
    schema = core.Schema([core.Field(name, kind, nullable=True) for name, kind in types.items()])
    return core.RecordBatchReader.from_batches(schema, _batches(core, table, run, schema))


def _batches(core: Any, table: ResultTable, run: str, schema: Any) -> Iterator[Any]:
    texts = table.text_columns()
    for block in table.arrays(table.columns):
        columns = [
            values.astype(object) if name in texts else values
            for name, values in zip(table.columns, block, strict=True)
        ]
        if run:
            columns.insert(0, np.full(len(block[0]), run, dtype=object))
        yield core.RecordBatch.from_arrays([_arrow_array(core, values) for values in columns], schema=schema)


def _arrow_array(core: Any, values: Any) -> Any:
    if values.dtype == object:
        return core.Array([None if value is None else str(value) for value in values.tolist()], core.DataType.utf8())
    numbers = [None if math.isnan(value) else value for value in values.tolist()]
    return core.Array(numbers, core.DataType.float64())


def expectation_text(checked: CheckedExpectation) -> str:
    """One line: whether it holds, the expectation, and what was found."""
    return f"{'ok  ' if checked.holds else 'FAIL'}  {checked.text}: {checked.found}"
