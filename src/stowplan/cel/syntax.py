"""The syntax tree of an expression. The checker adds types and overloads to its nodes.

Upstream: github.com/google/cel-go/common/ast/expr.go
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stowplan.cel.types import DYN, Type

if TYPE_CHECKING:
    from stowplan.cel.library import Overload


class CompileError(Exception):
    """An error of the compiler; `DeviceSelectorProgram.error` has its text."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.text = text
        self.at = at


@dataclass(slots=True, eq=False)
class SyntaxNode:
    """A node. `at` is its offset in the source."""

    at: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(SyntaxNode):
    value: Any
    kind: Type


@dataclass(slots=True, eq=False)
class Ident(SyntaxNode):
    name: str


@dataclass(slots=True, eq=False)
class Select(SyntaxNode):
    """A field of a value: `a.b`, as `test` `has(a.b)`, as `optional` `a.?b`."""

    operand: SyntaxNode
    name: str
    test: bool = False
    optional: bool = False


@dataclass(slots=True, eq=False)
class CallNode(SyntaxNode):
    """A call of a function, or of an operator by its CEL name (`_+_`)."""

    function: str
    target: SyntaxNode | None
    args: list[SyntaxNode]
    overloads: tuple[Overload, ...] = field(default=(), init=False)


@dataclass(slots=True, eq=False)
class CreateList(SyntaxNode):
    items: list[tuple[SyntaxNode, bool]]
    """(element, whether it is optional)."""


@dataclass(slots=True, eq=False)
class CreateMap(SyntaxNode):
    entries: list[tuple[SyntaxNode, SyntaxNode, bool]]


@dataclass(slots=True, eq=False)
class CreateStruct(SyntaxNode):
    name: str


@dataclass(slots=True, eq=False)
class Comprehension(SyntaxNode):
    """A comprehension macro of some `kind` over a list or a map, with its variables and expressions."""

    kind: str
    range: SyntaxNode
    names: tuple[str, ...]
    steps: tuple[SyntaxNode, ...]


@dataclass(slots=True, eq=False)
class BindNode(SyntaxNode):
    """A variable for a value: `kind` is bind, optMap or optFlatMap."""

    kind: str
    name: str
    value: SyntaxNode
    result: SyntaxNode


def qualified_name(node: SyntaxNode) -> str | None:
    """`a.b.c` if the node is a chain of names, else None."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test and not node.optional:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.name}"
    return None


def display(source: str, text: str, at: int) -> str:
    """An error with its line of the source and a mark below the position."""
    start = source.rfind("\n", 0, at) + 1
    end = source.find("\n", at)
    line = source[start : len(source) if end < 0 else end].replace("\t", " ")
    column = at - start
    before = "".join("\uff0e" if ord(c) > 127 else "." for c in line[:column])
    mark = "\uff3e" if column < len(line) and ord(line[column]) > 127 else "^"
    number = source.count("\n", 0, at) + 1
    return f"ERROR: <input>:{number}:{column + 1}: {text}\n | {line}\n | {before}{mark}"
