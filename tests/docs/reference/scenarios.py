"""Scenarios: tables of their fields, their JSON Schema, and the metrics of runs."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from stowplan.simulator.scenario.json_schema import field_meanings, schema_text
from stowplan.study import metrics as metrics_module


def schema() -> str:
    return schema_text()


def fields() -> str:
    """A table for each part of a scenario, the document first."""
    *parts, document = field_meanings().items()
    return "\n".join(_table(struct, meanings) for struct, meanings in (document, *parts))


def _table(struct: type[msgspec.Struct], meanings: dict[str, str]) -> str:
    about = inspect.getdoc(struct) or ""
    lines = [
        f"### {struct.__name__.removesuffix('Spec')}\n", f"{about}\n", "| field | default | meaning |", "|---|---|---|"
    ]  # fmt: skip
    lines += [
        f"| `{field.encode_name}` | {_default(field)} | {meanings.get(field.name, '')} |"
        for field in msgspec.structs.fields(struct)
    ]
    return "\n".join(lines) + "\n"


def _default(field: Any) -> str:
    default = field.default if field.default is not msgspec.NODEFAULT else None
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if default in (None, "", (), {}) or isinstance(default, msgspec.Struct):
        return ""
    return f"`{default}`"


def metrics() -> str:
    """The table of the module's docstring."""
    return "\n".join(line for line in (metrics_module.__doc__ or "").splitlines() if line.startswith("|"))
