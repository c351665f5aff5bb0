"""The reference page of loaders names what the code reads."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from stowplan.traces import LOADERS, TraceSelection, batch_tasks, openb

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "traces.md").read_text()
OPTIONS_OF = {"google2019": "alibaba2018", "helios": "philly"}
"""Loaders whose options are described with those of another."""
COLUMNS = {
    "openb": openb._NODE_COLUMNS + openb._POD_COLUMNS + openb._TIMES,
    "alibaba2018": batch_tasks._TASK + batch_tasks._MACHINE,
}


def section(name: str) -> str:
    return TEXT.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def options(kind: type[TraceSelection]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_options_of_all_loaders_are_described() -> None:
    assert set(re.findall(r"^\| `(\w+)`", section("Options of all loaders"), re.MULTILINE)) == options(TraceSelection)


@pytest.mark.parametrize("name", LOADERS)
def test_options_and_columns_of_a_loader_are_described(name: str) -> None:
    own = options(LOADERS[name].Options) - options(TraceSelection)
    text = section(OPTIONS_OF.get(name, name))
    assert section(name)
    assert not {option for option in own if f"`{option}`" not in text}
    assert not {column for column in COLUMNS.get(name, ()) if f"`{column}`" not in section(name)}
