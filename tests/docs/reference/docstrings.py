"""Attribute docstrings."""

import ast
import inspect
from functools import cache
from typing import Any


@cache
def members(cls: type) -> dict[str, str]:
    """Names defined in the class body or set in `__init__`, in order, with their docstrings."""
    tree = ast.parse(inspect.getsource(cls)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if statement.name == "__init__":
                _take(statement.body, found)
            else:
                found[statement.name] = ""
    own: dict[str, str] = {}
    _take(tree.body, own)
    return {**own, **found}


def _take(body: list[ast.stmt], found: dict[str, str]) -> None:
    for statement, following in zip(body, [*body[1:], None], strict=True):
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        name = getattr(targets[0], "id", None) or getattr(targets[0], "attr", None)
        if name and isinstance(statement, ast.Assign | ast.AnnAssign):
            text = following.value.value if _is_text(following) else ""  # type: ignore[union-attr]
            found[name] = text_of(text)


def _is_text(statement: ast.stmt | None) -> bool:
    value: Any = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str)


def text_of(docstring: str | None) -> str:
    return " ".join(inspect.cleandoc(docstring or "").split())
