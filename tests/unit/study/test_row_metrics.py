from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.study.files import _LateErrorFile, _write_table
from stowplan.study.grouped_rows import GroupedRows
from stowplan.study.load_metrics import LOADS, allocations
from stowplan.study.recording import POD_COLUMNS
from stowplan.study.row_metrics import goodput, pod_metrics
from stowplan.study.table import ResultTable

_MAX_BYTES_PER_ROW = 30
_MAX_BYTES_OF_BLOCK = 2**20
AREAS = {"allocatable.cpu": 1e9, "allocatable.memory": 1e9}


def pods(rows: Iterator[dict[str, object]]) -> ResultTable:
    table = ResultTable("pods", POD_COLUMNS)
    for row in rows:
        table.append(tuple(row.get(name, "") for name in POD_COLUMNS))
    return table


def numbered(number: int) -> dict[str, object]:
    time = number / 7
    times = {"submitted": time, "bound": time + number % 5, "running": time + number % 5, "ended": time + 100.0}
    amounts = {"request_cpu_m": 1000, "request_memory": 2**30, "request_gpu_m": 0}
    other = {"outcome": "succeeded", "attempts": 1, "lost_s": 0.0, "waited_s": float(number % 5), "work_s": 90.0}
    return {"workload": f"w{number % 3}", "priority": 0, **times, **amounts, **other}


def test_metrics_of_many_pods_hold_few_columns_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.study.table._MAX_BYTES_IN_MEMORY", 1000)
    count = 60_000
    table = pods(map(numbered, range(count)))
    tracemalloc.start()
    try:
        rows = GroupedRows(table, 0.0)
        found = {(each.metric, each.key): each.value for each in pod_metrics(rows, {}, 1e6)}
        list(goodput(rows, AREAS))
        list(allocations(table, AREAS, 1e6))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < _MAX_BYTES_PER_ROW * count + _MAX_BYTES_OF_BLOCK
    assert found["pods", ""] == count
    assert (found["wait.mean", "workload=w1"], found["wait.p50", "workload=w1"]) == (2.0, 2.0)


def test_a_column_is_read_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.study.table._MAX_BYTES_IN_MEMORY", 20_000)
    table = pods(map(numbered, range(9000)))
    read: list[int] = []
    whole = ResultTable._read

    def counted(table: ResultTable, block: object, index: int) -> bytes:
        read.append(index)
        return whole(table, block, index)  # type: ignore[arg-type]

    monkeypatch.setattr(ResultTable, "_read", counted)
    assert table["waited_s"].tolist() == [float(number % 5) for number in range(9000)]
    assert set(read) == {POD_COLUMNS.index("waited_s")}


def test_rows_before_the_warm_up_do_not_count() -> None:
    rows = GroupedRows(pods(map(numbered, range(10_000))), 700.0)
    assert len(rows.column("waited_s")) == sum(number / 7 >= 700 for number in range(10_000))
    assert dict(rows.outcomes())[""]["succeeded"] == len(rows.column("waited_s"))
    assert rows.keys == ["", "workload=w0", "workload=w1", "workload=w2"]


def test_a_condition_is_the_only_group() -> None:
    rows = GroupedRows(pods(map(numbered, range(10))), 0.0, {"workload": "w1", "priority": 0.0})
    assert [(key, len(values)) for key, values in rows.each(rows.column("submitted"))] == [("", 3)]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 20)), max_size=60),
    st.integers(1, 60),
    st.integers(1, 7),
)
def test_allocations_are_those_of_all_rows_at_once(
    given: list[tuple[int, int, int]], capacity: int, rows_per_block: int
) -> None:
    """Rows are (submitted, amount, time from the binding to the end)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stowplan.study.table._ROWS_PER_BLOCK", rows_per_block)
        ends = sorted(given, key=lambda row: row[0] + row[2])
        table = pods(
            {"submitted": float(at), "bound": at + 1.0, "ended": at + 1.0 + held, "request_cpu_m": amount}
            for at, amount, held in ends
        )
        found = dict(allocations(table, {"allocatable.cpu": float(capacity)}, 1.0))
    order = np.argsort([at for at, _, _ in ends], kind="stable")
    arrived = np.cumsum([ends[index][1] for index in order])
    expected = {}
    for load in LOADS:
        index = int(np.searchsorted(arrived, capacity * load / 100))
        if index < len(arrived):
            moment = ends[order[index]][0]
            held = sum(amount for at, amount, stay in ends if at + 1 <= moment < at + 1 + stay)
            expected[f"allocation.cpu@{load}"] = held / capacity
    assert found == expected


def test_files_of_many_rows_are_written_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("arro3.io")
    monkeypatch.setattr("stowplan.study.table._MAX_BYTES_IN_MEMORY", 1000)
    count = 50_000
    table = ResultTable("t", ("number", "text", "missing"))
    for number in range(count):
        table.append((number / 2, f"row {number}", None))
    _write_table(table, tmp_path, "r")  # imports
    tracemalloc.start()
    try:
        _write_table(table, tmp_path, "r")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * _MAX_BYTES_OF_BLOCK
    read = parquet.read_parquet(tmp_path / "t.parquet").read_all()
    columns = {
        name: read[name].to_numpy() if name == "number" else read[name].to_pylist() for name in ("number", "text")
    }
    assert columns["number"].tolist() == [number / 2 for number in range(count)]
    assert columns["text"] == [f"row {number}" for number in range(count)]
    assert set(read["missing"].to_pylist()) == {None}


def test_a_full_disk_is_an_error_of_the_file() -> None:
    pytest.importorskip("arro3.io")
    file = _LateErrorFile(Path("/dev/full"))
    assert file.write(b"x" * 100_000) == file.write(b"x") * 100_000
    with pytest.raises(OSError, match="No space left"):
        file.close()
