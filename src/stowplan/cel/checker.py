"""The type checker.

Upstream: github.com/google/cel-go/checker/checker.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stowplan.cel.library import Overload
from stowplan.cel.syntax import (
    BindNode,
    CallNode,
    Comprehension,
    CreateList,
    CreateMap,
    CreateStruct,
    Ident,
    Literal,
    Select,
    SyntaxNode,
    qualified_name,
)
from stowplan.cel.types import (
    BOOL,
    DEVICE,
    DYN,
    ERROR,
    INT,
    WILD,
    Bindings,
    Type,
    assignable,
    list_of,
    map_of,
    most_general,
    optional_of,
    substitute,
    unwrap_optional,
)

Scope = Mapping[str, Type]


class Checker:
    """Checks one expression. `errors` has (text, offset) pairs in the order of discovery."""

    def __init__(self, functions: Mapping[str, Sequence[Overload]], fields: Mapping[str, Type]) -> None:
        self.functions = functions
        self.fields = fields
        self.errors: list[tuple[str, int]] = []
        self.bound = Bindings()
        self._fresh = 0

    def check(self, node: SyntaxNode, scope: Scope) -> Type:
        """Find the type of a node, and record it there."""
        match node:
            case Literal():
                found = node.kind
            case Ident():
                found = self._ident(node, scope)
            case Select():
                found = self._select(node, scope)
            case CallNode():
                found = self._call(node, scope)
            case CreateList():
                found = self._list(node, scope)
            case CreateMap():
                found = self._map(node, scope)
            case Comprehension():
                found = self._comprehension(node, scope)
            case BindNode():
                found = self._bind(node, scope)
            case CreateStruct():
                found = self._undeclared(node.name, node.at)
            case _:
                raise AssertionError(node)
        if found.params:
            self.bound.check_size(found)
        node.type = found
        return found

    def _error(self, text: str, at: int) -> Type:
        self.errors.append((text, at))
        return ERROR

    def _undeclared(self, name: str, at: int) -> Type:
        return self._error(f"undeclared reference to '{name}' (in container '')", at)

    def _mismatch(self, expected: Type, found: Type, at: int) -> Type:
        return self._error(f"expected type '{expected}' but found '{found}'", at)

    def _agree(self, one: Type, other: Type) -> bool:
        trial = Bindings(self.bound)
        if assignable(trial, one, other):
            self.bound = trial
            return True
        return False

    def _variable(self) -> Type:
        self._fresh += 1
        return Type(f"_var{self._fresh - 1}")

    def _known(self, kind: Type) -> Type:
        return substitute(self.bound, kind)

    def _ident(self, node: Ident, scope: Scope) -> Type:
        found = scope.get(node.name)
        return self._undeclared(node.name, node.at) if found is None else found

    def _select(self, node: Select, scope: Scope) -> Type:
        name = qualified_name(node)
        if name is not None and name in scope:
            return scope[name]
        operand, was_optional = unwrap_optional(self._known(self.check(node.operand, scope)))
        found = self._field(operand, node)
        if node.test:
            return BOOL
        return optional_of(found) if was_optional or node.optional else self._known(found)

    def _field(self, operand: Type, node: Select) -> Type:
        if operand.name == "map":
            return operand.params[1]
        if operand == DEVICE:
            found = self.fields.get(node.name)
            return self._error(f"undefined field '{node.name}'", node.at) if found is None else found
        if operand.is_param:
            self._agree(DYN, operand)
        elif operand not in WILD and operand != ERROR:
            self._error(f"type '{operand}' does not support field selection", node.at)
        return DYN

    def _call(self, node: CallNode, scope: Scope) -> Type:
        kinds = [self.check(arg, scope) for arg in node.args]
        if node.function in ("_&&_", "_||_"):
            return self._logical(node, kinds)
        if node.target is not None:
            prefix = qualified_name(node.target)
            if prefix is not None and f"{prefix}.{node.function}" in self.functions:
                node.function, node.target = f"{prefix}.{node.function}", None
            else:
                kinds.insert(0, self.check(node.target, scope))
        declared = self.functions.get(node.function)
        if declared is None:
            return self._undeclared(node.function, node.at)
        return self._resolve(node, declared, kinds)

    def _logical(self, node: CallNode, kinds: list[Type]) -> Type:
        wrong = [(arg, kind) for arg, kind in zip(node.args, kinds, strict=True) if not self._agree(kind, BOOL)]
        for arg, kind in wrong:
            self._mismatch(BOOL, kind, arg.at)
        return ERROR if wrong else BOOL

    def _resolve(self, node: CallNode, declared: Sequence[Overload], kinds: list[Type]) -> Type:
        fitting: list[Overload] = []
        result: Type | None = None
        for overload in declared:
            if overload.member != (node.target is not None) or len(overload.args) != len(kinds):
                continue
            renamed = Bindings({name: self._variable() for name in sorted(overload.params)})
            trial = Bindings(self.bound)
            wanted = [substitute(renamed, kind) for kind in overload.args]
            if not all(assignable(trial, kind, want) for kind, want in zip(kinds, wanted, strict=True)):
                continue
            self.bound = trial
            fitting.append(overload)
            found = self._known(substitute(renamed, overload.result))
            if result is None:
                result = found
            elif result not in WILD and found != result:
                result = DYN
        node.overloads = tuple(fitting)
        return self._no_overload(node, kinds) if result is None else result

    def _no_overload(self, node: CallNode, kinds: list[Type]) -> Type:
        shown = [str(substitute(self.bound, kind, free_as_dyn=True)) for kind in kinds]
        target = f"{shown.pop(0)}." if node.target is not None else ""
        applied = f"{target}({', '.join(shown)})"
        return self._error(f"found no matching overload for '{node.function}' applied to '{applied}'", node.at)

    def _join(self, previous: Type | None, found: Type) -> Type:
        if previous is None:
            return found
        if self._agree(previous, found):
            return most_general(previous, found)
        return DYN

    def _element(self, node: SyntaxNode, optional: bool, scope: Scope) -> Type:
        found = self.check(node, scope)
        if not optional:
            return found
        inner, was_optional = unwrap_optional(found)
        if not was_optional and inner not in WILD:
            self._mismatch(optional_of(inner), inner, node.at)
        return inner

    def _list(self, node: CreateList, scope: Scope) -> Type:
        found: Type | None = None
        for item, optional in node.items:
            found = self._join(found, self._element(item, optional, scope))
        return list_of(self._variable() if found is None else found)

    def _map(self, node: CreateMap, scope: Scope) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for key, value, optional in node.entries:
            keys = self._join(keys, self.check(key, scope))
            values = self._join(values, self._element(value, optional, scope))
        if keys is None or values is None:
            return map_of(self._variable(), self._variable())
        return map_of(keys, values)

    def _variables(self, node: Comprehension, scope: Scope) -> tuple[Type, ...]:
        """The types of a macro's iteration variables."""
        over = self._known(self.check(node.range, scope))
        two = len(node.names) == 2
        if over.name == "list":
            return (INT, over.params[0]) if two else (over.params[0],)
        if over.name == "map":
            return over.params if two else (over.params[0],)
        if over in (DYN, ERROR) or over.is_param:
            self._agree(DYN, over)
            return (DYN, DYN)
        must = "(must be list, map, or dynamic)"
        self._error(f"expression of type '{over}' cannot be range of a comprehension {must}", node.range.at)
        return (ERROR, ERROR)

    def _comprehension(self, node: Comprehension, scope: Scope) -> Type:
        variables = self._variables(node, scope)
        inner = {**scope, **dict(zip(node.names, variables, strict=False))}
        kinds = [self.check(step, inner) for step in node.steps]
        element, last = variables[0], self._known(kinds[-1])
        filtered = node.kind in ("filter", "exists_one") or len(kinds) == 2
        if node.kind in ("all", "exists"):
            if not self._agree(kinds[0], BOOL):
                self._mismatch(BOOL, kinds[0], node.steps[0].at)
            return BOOL
        if filtered and not self._agree(kinds[0], BOOL):
            return self._error(f"found no matching overload for '_?_:_' applied to '({kinds[0]}, dyn, dyn)'", node.at)
        match node.kind:
            case "exists_one":
                return BOOL
            case "filter":
                return list_of(element)
            case "sortBy":
                return node.range.type
            case "transformMap":
                return map_of(element, last)
            case "transformMapEntry":
                return last
        return list_of(last)

    def _bind(self, node: BindNode, scope: Scope) -> Type:
        value = self.check(node.value, scope)
        if node.kind == "bind":
            return self.check(node.result, {**scope, node.name: value})
        inner, was_optional = unwrap_optional(self._known(value))
        if not was_optional and inner not in WILD:
            return self._error(f"found no matching overload for 'hasValue' applied to '{inner}.()'", node.at)
        found = self.check(node.result, {**scope, node.name: inner})
        return optional_of(found) if node.kind == "optMap" else found
