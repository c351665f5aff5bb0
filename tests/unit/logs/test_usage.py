"""How the modules of stowplan log: through one API, with values in fields."""

from __future__ import annotations

import ast
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.observe.metered_engine import MeteredEngine

import stowplan
from stowplan import Plugin, logs
from stowplan.framework import Bind, Failure

SOURCE = Path(stowplan.__file__).parent
LEVELS = ("info", "v", "warning", "error", "exception")


def log_calls(tree: ast.Module) -> list[ast.Call]:
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    return [each for each in calls if ast.unparse(each.func.value) == "log" and each.func.attr in LEVELS]  # type: ignore[attr-defined]


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(str(path.relative_to(SOURCE)), ast.parse(path.read_text())) for path in sorted(SOURCE.rglob("*.py"))]


def test_no_module_but_logs_uses_pythons_loggers() -> None:
    uses = {
        name
        for name, tree in trees()
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and each.attr == "getLogger" and ast.unparse(each) == "logging.getLogger"
    }
    assert uses == {"logs/log.py"}


def test_messages_have_no_values_in_them() -> None:
    calls = [(name, call) for name, tree in trees() for call in log_calls(tree)]
    assert len(calls) > 60
    for name, call in calls:
        assert isinstance(call.func, ast.Attribute)
        message = call.args[0 if call.func.attr in ("info", "warning") else 1]
        assert not isinstance(message, ast.JoinedStr | ast.BinOp | ast.Call), f"{name}:{call.lineno}: not a constant"
        parts = [each.value for each in ast.walk(message) if isinstance(each, ast.Constant)]
        text = "".join(str(part) for part in parts)
        assert '="' not in text, f"{name}:{call.lineno}: {text}"
        assert "%s" not in text, f"{name}:{call.lineno}: {text}"
        assert len(call.args) == (1 if call.func.attr in ("info", "warning") else 2), f"{name}:{call.lineno}"


class Boom(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None:
        if pod.name == "odd":
            raise ValueError('who="me"')

    def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
        raise RuntimeError("late")


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    """The lines, parsed, of a scenario with pods that are bound, rejected, retried and failed by a plugin."""
    stream = io.StringIO()
    logs.configure(logs.LogOptions(verbosity=10, format="json"), stderr=stream)
    factories = {"Boom": Boom}
    host = MeteredEngine(
        node("n1"), pod("fits"), pod("fails"), pod("big", requests={"cpu": 100}), pod("odd"), plugins=factories
    ).host
    host.schedule(Bind)
    bindings = {each.pod.name: each for each in host.open if isinstance(each, Bind)}
    host.do(bindings["fails"], Failure("no route to host"))
    host.schedule()
    host.delete(pod("big", requests={"cpu": 100}))
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_have_their_values_as_fields(lines: list[dict[str, Any]]) -> None:
    assert len(lines) > 10
    assert not [line["msg"] for line in lines if '="' in line["msg"]]
    assert {"name": "fits", "namespace": "default"} in [line.get("pod") for line in lines]
    assert "n1" in [line.get("node") for line in lines]
    assert any(line.get("plugin") == "Boom" and "ValueError" in line["err"] for line in lines)
