"""Notebooks: executes the cells of one in order, and writes what they show into it."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

from tests.docs.page import ROOT

Json = dict[str, Any]


def notebooks() -> list[Path]:
    return sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> str:
    """The notebook with the outputs of its cells, as a file."""
    notebook: Json = json.loads(path.read_text())
    names: Json = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell["execution_count"] = number
            cell["outputs"] = _outputs("".join(cell["source"]), names, number)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _outputs(source: str, names: Json, number: int) -> list[Json]:
    """What Jupyter would show: printed text, and the value of the last expression as HTML and text."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[Json] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue()})
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_(), **data}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs
