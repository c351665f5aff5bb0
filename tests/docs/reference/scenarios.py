"""Scenarios: tables of their fields, their JSON Schema, and the metrics of runs."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import msgspec

from stowplan.simulator.scenario import schema as fields_module
from stowplan.simulator.scenario.json_schema import schema_text
from stowplan.study import metrics as metrics_module


def schema() -> str:
    return schema_text()


def fields() -> str:
    """A table for each part of a scenario, the document first."""
    tree = ast.parse(inspect.getsource(fields_module))
    parts = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name != "ScenarioPart"]
    return "\n".join(_table(part) for part in (parts[-1], *parts[:-1]))


def _table(part: ast.ClassDef) -> str:
    struct: type[msgspec.Struct] = getattr(fields_module, part.name)
    about = ast.get_docstring(part) or ""
    lines = [f"### {part.name.removesuffix('Spec')}\n", f"{about}\n", "| field | default | meaning |", "|---|---|---|"]
    texts = _texts(part)
    lines += [
        f"| `{field.encode_name}` | {_default(field)} | {texts.get(field.name, '')} |"
        for field in msgspec.structs.fields(struct)
    ]
    return "\n".join(lines) + "\n"


def _texts(part: ast.ClassDef) -> dict[str, str]:
    """The docstrings below the attributes of a class."""
    found = {}
    for before, after in zip(part.body, part.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            text = after.value.value if isinstance(after.value, ast.Constant) else ""
            found[before.target.id] = " ".join(str(text).split())
    return found


def _default(field: Any) -> str:
    default = field.default if field.default is not msgspec.NODEFAULT else None
    if default in (None, "", (), {}) or isinstance(default, msgspec.Struct | bool):
        return "`true`" if default is True else ""
    return f"`{default}`"


def metrics() -> str:
    """The table of the module's docstring."""
    return "\n".join(line for line in (metrics_module.__doc__ or "").splitlines() if line.startswith("|"))
