"""Macro expansion.

Upstream: github.com/google/cel-go/parser/macro.go, github.com/google/cel-go/ext/comprehensions.go
"""

from __future__ import annotations

from collections.abc import Callable

from stowplan.cel.syntax import (
    BindNode,
    CallNode,
    CompileError,
    Comprehension,
    Ident,
    Select,
    SyntaxNode,
)

_ACCUMULATOR = "__result__"

_SIMPLE_NAME = "argument must be a simple name"
_IDENTIFIER = "argument is not an identifier"

_ONE_VARIABLE = {
    ("all", 2): ("all", _SIMPLE_NAME),
    ("exists", 2): ("exists", _SIMPLE_NAME),
    ("exists_one", 2): ("exists_one", _SIMPLE_NAME),
    ("map", 2): ("map", _IDENTIFIER),
    ("map", 3): ("map", _IDENTIFIER),
    ("filter", 2): ("filter", _IDENTIFIER),
    ("sortBy", 2): ("sortBy", _IDENTIFIER),
}
_TWO_VARIABLES = {
    ("all", 3): "all",
    ("exists", 3): "exists",
    ("existsOne", 3): "exists_one",
    ("exists_one", 3): "exists_one",
    ("transformList", 3): "map",
    ("transformList", 4): "map",
    ("transformMap", 3): "transformMap",
    ("transformMap", 4): "transformMap",
    ("transformMapEntry", 3): "transformMapEntry",
    ("transformMapEntry", 4): "transformMapEntry",
}


def expand(call: CallNode) -> SyntaxNode:
    """The expansion of a macro call; any other call is returned as it is."""
    shape = (call.function, len(call.args))
    if call.target is None:
        return _has(call) if shape == ("has", 1) else call
    if shape in _ONE_VARIABLE:
        kind, message = _ONE_VARIABLE[shape]
        name = _variable(call.args[0], message)
        return Comprehension(call.at, kind, call.target, (name,), tuple(call.args[1:]))
    if shape in _TWO_VARIABLES:
        first, second = (_variable(arg, _SIMPLE_NAME) for arg in call.args[:2])
        if first == second:
            raise CompileError(f"duplicate variable name: {first}", call.args[1].at)
        return Comprehension(call.at, _TWO_VARIABLES[shape], call.target, (first, second), tuple(call.args[2:]))
    special = _SPECIAL.get(shape)
    return call if special is None else special(call)


def _has(call: CallNode) -> SyntaxNode:
    field = call.args[0]
    if not isinstance(field, Select) or field.optional:
        raise CompileError("invalid argument to has() macro", field.at)
    return Select(call.at, field.operand, field.name, test=True)


def _bind(call: CallNode) -> SyntaxNode:
    if not isinstance(call.target, Ident) or call.target.name != "cel":
        return call
    name, value, result = call.args
    if not isinstance(name, Ident):
        raise CompileError("cel.bind() variable names must be simple identifiers", name.at)
    return BindNode(call.at, "bind", name.name, value, result)


def _over_optional(call: CallNode) -> SyntaxNode:
    assert call.target is not None
    name = call.args[0]
    if not isinstance(name, Ident):
        message = f"{call.function}() variable name must be a simple identifier"
        raise CompileError(message, name.at)
    return BindNode(call.at, call.function, name.name, call.target, call.args[1])


_SPECIAL: dict[tuple[str, int], Callable[[CallNode], SyntaxNode]] = {
    ("bind", 3): _bind,
    ("optMap", 2): _over_optional,
    ("optFlatMap", 2): _over_optional,
}


def _variable(node: SyntaxNode, message: str) -> str:
    if not isinstance(node, Ident):
        raise CompileError(message, node.at)
    if node.name == _ACCUMULATOR:
        raise CompileError("iteration variable overwrites accumulator variable", node.at)
    return node.name
