"""The syntax tree of an expression. Nodes know where they stand; the checker adds what it found out about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stowplan.cel.types import DYN, Type

if TYPE_CHECKING:
    from stowplan.cel.library import Overload


class CompileError(Exception):
    """An expression that is none; internal to the compiler, which turns it into a text."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.text = text
        self.at = at


@dataclass(slots=True, eq=False)
class SyntaxNode:
    """Anything that has a value. `at` is its offset in the source."""

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
    """A field of a value; with `test` the question whether it is there, with `optional` an answer that may be none."""

    operand: SyntaxNode
    name: str
    test: bool = False
    optional: bool = False


@dataclass(slots=True, eq=False)
class CallNode(SyntaxNode):
    """A function, or an operator under the name that CEL gives it (`_+_`)."""

    function: str
    target: SyntaxNode | None
    args: list[SyntaxNode]
    overloads: tuple[Overload, ...] = field(default=(), init=False)


@dataclass(slots=True, eq=False)
class CreateList(SyntaxNode):
    items: list[tuple[SyntaxNode, bool]]
    """Elements, and whether they are optional."""


@dataclass(slots=True, eq=False)
class CreateMap(SyntaxNode):
    entries: list[tuple[SyntaxNode, SyntaxNode, bool]]


@dataclass(slots=True, eq=False)
class CreateStruct(SyntaxNode):
    name: str


@dataclass(slots=True, eq=False)
class Comprehension(SyntaxNode):
    """A macro over a list or a map. `kind` says which; `names` are its variables, `steps` its expressions."""

    kind: str
    range: SyntaxNode
    names: tuple[str, ...]
    steps: tuple[SyntaxNode, ...]


@dataclass(slots=True, eq=False)
class BindNode(SyntaxNode):
    """A name for a value; `kind` tells cel.bind from the forms that look into an optional first."""

    kind: str
    name: str
    value: SyntaxNode
    result: SyntaxNode


def qualified_name(node: SyntaxNode) -> str | None:
    """`a.b.c` where the node is such a chain of names."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test and not node.optional:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.name}"
    return None


def display(source: str, text: str, at: int) -> str:
    """An error with the line it is about, and a mark below the place."""
    start = source.rfind("\n", 0, at) + 1
    end = source.find("\n", at)
    line = source[start : len(source) if end < 0 else end].replace("\t", " ")
    column = at - start
    before = "".join("\uff0e" if ord(c) > 127 else "." for c in line[:column])
    mark = "\uff3e" if column < len(line) and ord(line[column]) > 127 else "^"
    number = source.count("\n", 0, at) + 1
    return f"ERROR: <input>:{number}:{column + 1}: {text}\n | {line}\n | {before}{mark}"
