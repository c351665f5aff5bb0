"""Checked syntax trees as closures, and the evaluation that they run in.

Upstream: github.com/google/cel-go/interpreter/planner.go, github.com/google/cel-go/interpreter/interpretable.go
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from stowplan.cel.aggregates import (
    LazyValue,
    bind,
    find,
    index,
    is_present,
    make_list,
    make_map,
    present_index,
    select,
)
from stowplan.cel.comprehensions import fold
from stowplan.cel.cost import Clock, CostTracker
from stowplan.cel.library import Overload
from stowplan.cel.regex import check_regex
from stowplan.cel.syntax import (
    BindNode,
    CallNode,
    Comprehension,
    CreateList,
    CreateMap,
    Ident,
    Literal,
    Select,
    SyntaxNode,
    qualified_name,
)
from stowplan.cel.values import (
    NO_OVERLOAD,
    CelError,
    Optional,
    TypeValue,
    type_name,
)

_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"))
"""Conversions of literals are done once, at compile time: they cost nothing, and their errors are compile errors."""

_UNGUARDED = frozenset(("contains", "endsWith", "startsWith"))


class Evaluation(CostTracker):
    """One run: the variables in scope and the cost so far."""

    __slots__ = ("variables",)

    def __init__(self, variables: dict[str, Any], clock: Clock = time.thread_time) -> None:
        super().__init__(clock)
        self.variables = variables


Step: TypeAlias = Callable[[Evaluation], Any]


def plan(node: SyntaxNode, type_names: dict[str, str]) -> Step:
    """The closure that evaluates a node."""

    def of(child: SyntaxNode) -> Step:
        return plan(child, type_names)

    match node:
        case Literal():
            return _constant(node.value)
        case Ident() | Select() if (name := qualified_name(node)) in type_names and not _shadowed(node):
            return _constant(TypeValue(type_names[str(name)]))
        case Ident():
            return _variable(node.name)
        case Select():
            return _select(node, of(node.operand))
        case CallNode():
            return _call(node, [of(arg) for arg in ([] if node.target is None else [node.target]) + node.args])
        case CreateList():
            return make_list([(of(item), optional) for item, optional in node.items])
        case CreateMap():
            return make_map([(of(key), of(value), optional) for key, value, optional in node.entries])
        case Comprehension():
            return fold(node.kind, of(node.range), node.names, [of(step) for step in node.steps])
        case BindNode():
            return bind(node, of(node.value), of(node.result))
    raise AssertionError(node)


def _shadowed(node: SyntaxNode) -> bool:
    """Whether a name that is also the name of a type refers to a variable."""
    return node.type.name != "type"


def _constant(value: Any) -> Step:
    return lambda run: value


def _variable(name: str) -> Step:
    def step(run: Evaluation) -> Any:
        run.spend(1)
        value = run.variables[name]
        return value(run) if type(value) is LazyValue else value

    return step


def _select(node: Select, operand: Step) -> Step:
    name = node.name
    if node.test:
        return lambda run: is_present(operand(run), name)

    def optional(run: Evaluation) -> Any:
        run.spend(1)
        return find(operand(run), name)

    def plain(run: Evaluation) -> Any:
        run.spend(1)
        value = operand(run)
        return find(value, name) if type(value) is Optional else select(value, name)

    return optional if node.optional else plain


def _call(node: CallNode, args: list[Step]) -> Step:
    match node.function:
        case "_&&_":
            return _logical(args, stop=False)
        case "_||_":
            return _logical(args, stop=True)
        case "_?_:_":
            return _conditional(*args)
        case "or" | "orValue":
            return _or_else(node.function, *args)
        case "_[_]":
            return _index(index, *args)
        case "_[?_]":
            return _index(present_index, *args)
    if node.function in _CONVERSIONS and isinstance(node.args[0], Literal):
        return _constant(node.overloads[0].implementation(node.args[0].value))
    if node.function in ("find", "findAll") and isinstance(node.args[0], Literal):
        check_regex(str(node.args[0].value))
    if len(node.overloads) == 1 and all(kind.name not in ("dyn", "any") for kind in _kinds(node)):
        return _direct(node.overloads[0], args)
    return _dispatched(node, args)


def _kinds(node: CallNode) -> list[Any]:
    return [arg.type for arg in ([] if node.target is None else [node.target]) + node.args]


def _direct(overload: Overload, args: list[Step]) -> Step:
    function, cost = overload.implementation, overload.cost

    def metered(run: Evaluation) -> Any:
        values = [arg(run) for arg in args]
        run.spend(cost(values))
        return function(run, *values)

    def step(run: Evaluation) -> Any:
        values = [arg(run) for arg in args]
        run.spend(cost(values))
        return function(*values)

    if overload.work is not None:
        return lambda run: overload.call(run, [arg(run) for arg in args])
    return metered if overload.metered else step


def _dispatched(node: CallNode, args: list[Step]) -> Step:
    overloads = node.overloads
    name = node.function

    def step(run: Evaluation) -> Any:
        values = [arg(run) for arg in args]
        for overload in overloads:
            if overload.accepts(values):
                return overload.call(run, values)
        raise CelError(_refused(name, values))

    return step


def _refused(name: str, values: Sequence[Any]) -> str:
    if not name[0].isalpha() or name in _UNGUARDED:
        return NO_OVERLOAD
    if name == "size":
        return f"{NO_OVERLOAD}: size"
    return f"{NO_OVERLOAD}: {name}({', '.join(map(type_name, values))})"


def _logical(terms: list[Step], *, stop: bool) -> Step:
    """Evaluate terms until one decides; an error is returned only if none does."""

    def step(run: Evaluation) -> bool:
        failure: CelError | None = None
        for term in terms:
            try:
                value = term(run)
            except CelError as error:
                failure = failure or error
                continue
            if value is stop:
                break
            if type(value) is not bool:
                failure = failure or CelError(NO_OVERLOAD)
        else:
            if failure is not None:
                raise failure
            return not stop
        return bool(stop)

    return step


def _conditional(condition: Step, yes: Step, no: Step) -> Step:
    def step(run: Evaluation) -> Any:
        decided = condition(run)
        if type(decided) is not bool:
            raise CelError(NO_OVERLOAD)
        return yes(run) if decided else no(run)

    return step


def _or_else(function: str, optional: Step, other: Step) -> Step:
    def step(run: Evaluation) -> Any:
        value = optional(run)
        if type(value) is not Optional:
            raise CelError(NO_OVERLOAD)
        if not value.present:
            return other(run)
        return value.value if function == "orValue" else value

    return step


def _index(lookup: Callable[[Any, Any], Any], operand: Step, key: Step) -> Step:
    def step(run: Evaluation) -> Any:
        value = operand(run)
        at = key(run)
        run.spend(1)
        return lookup(value, at)

    return step
