"""Validators: errors of a checked tree beyond types, such as invalid literals.

Upstream: github.com/google/cel-go/cel/validator.go
"""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.cel.formatting import CLAUSE, refusal
from stowplan.cel.regex import check_regex
from stowplan.cel.syntax import (
    BindNode,
    CallNode,
    Comprehension,
    CreateList,
    CreateMap,
    Literal,
    Select,
    SyntaxNode,
)
from stowplan.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Bindings,
    Type,
    substitute,
)
from stowplan.cel.values import CelError

_PRINTABLE = frozenset((STRING, BOOL, BYTES, INT, UINT, DOUBLE, NULL, DURATION, TIMESTAMP))
_CLAUSES: dict[str, frozenset[Type]] = {
    "s": _PRINTABLE,
    "d": frozenset((INT, UINT)),
    "f": frozenset((DOUBLE, STRING)),
    "e": frozenset((DOUBLE, STRING)),
    "b": frozenset((INT, UINT, BOOL)),
    "x": frozenset((INT, UINT, STRING, BYTES)),
    "X": frozenset((INT, UINT, STRING, BYTES)),
    "o": frozenset((INT, UINT)),
}


class Validator:
    """Validates one tree; `errors` as in the checker."""

    def __init__(self, bound: Bindings) -> None:
        self._bound = bound
        self.errors: list[tuple[str, int]] = []

    def validate(self, node: SyntaxNode, *, formatting: bool = False) -> None:
        if isinstance(node, CallNode):
            self._call(node)
            formatting = formatting or node.function == "format"
        elif not formatting and isinstance(node, CreateList):
            self._homogeneous([(item, optional) for item, optional in node.items])
        elif not formatting and isinstance(node, CreateMap):
            self._homogeneous([(key, False) for key, _, _ in node.entries])
            self._homogeneous([(value, optional) for _, value, optional in node.entries])
        for child in _children(node):
            self.validate(child, formatting=formatting)

    def _type(self, node: SyntaxNode) -> Type:
        return substitute(self._bound, node.type, free_as_dyn=True)

    def _homogeneous(self, items: list[tuple[SyntaxNode, bool]]) -> None:
        """Report the first element whose type differs from that of the first."""
        first: Type | None = None
        for item, optional in items:
            kind = self._type(item)
            kind = kind.params[0] if optional and kind.params else kind
            if first is None:
                first = kind
            elif kind != first:
                self.errors.append((f"expected type '{first}' but found '{kind}'", item.at))
                return

    def _call(self, node: CallNode) -> None:
        first = node.args[0] if node.args else None
        if isinstance(first, Literal) and node.function in ("duration", "timestamp", "matches"):
            try:
                if node.function == "matches":
                    check_regex(str(first.value))
                elif node.overloads:
                    node.overloads[0].implementation(first.value)
            except CelError:
                self.errors.append((f"invalid {node.function} argument", first.at))
        if node.function == "format" and isinstance(node.target, Literal) and isinstance(first, CreateList):
            self._format(node, str(node.target.value), [item for item, _ in first.items])

    def _format(self, node: CallNode, template: str, args: list[SyntaxNode]) -> None:
        used = 0
        for clause in CLAUSE.finditer(template):
            letter = clause.group(3)
            if letter is None:
                continue
            if used >= len(args):
                self.errors.append((f"index {used} out of range", node.at))
                return
            kind = self._type(args[used])
            nested = letter == "s" and kind.name in ("list", "map", "type")
            if not nested and kind != DYN and kind not in _CLAUSES[letter]:
                self.errors.append((refusal(letter, kind.declared()), args[used].at))
                return
            used += 1
        if used < len(args):
            message = f"too many arguments supplied to string.format (expected {used}, got {len(args)})"
            self.errors.append((message, node.at))


def _children(node: SyntaxNode) -> Iterator[SyntaxNode]:
    match node:
        case Select():
            yield node.operand
        case CallNode():
            if node.target is not None:
                yield node.target
            yield from node.args
        case CreateList():
            yield from (item for item, _ in node.items)
        case CreateMap():
            yield from (part for key, value, _ in node.entries for part in (key, value))
        case Comprehension():
            yield node.range
            yield from node.steps
        case BindNode():
            yield node.value
            yield node.result
