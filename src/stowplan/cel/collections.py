"""Lists, maps, and names for values, built while an expression is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stowplan.cel.syntax import BindNode
from stowplan.cel.values import NO_OVERLOAD, NONE, CelError, Optional, UInt, type_name

if TYPE_CHECKING:
    from stowplan.cel.program import Evaluation, Step

_LIST, _MAP = 10, 30
"""What a list or a map costs."""

_KEYS = frozenset((str, int, bool, UInt))
"""What may be a key of a map."""


def make_list(items: list[tuple[Step, bool]]) -> Step:
    def step(run: Evaluation) -> list[Any]:
        out: list[Any] = []
        for item, optional in items:
            value = item(run)
            if not optional:
                out.append(value)
            elif type(value) is not Optional:
                raise CelError(f"cannot initialize optional list element from non-optional value {value}")
            elif value.present:
                out.append(value.value)
        run.spend(_LIST)
        return out

    return step


def make_map(entries: list[tuple[Step, Step, bool]]) -> Step:
    def step(run: Evaluation) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key, value, optional in entries:
            name, item = key(run), value(run)
            if type(name) not in _KEYS:
                raise CelError(f"unsupported key type: {type_name(name)}")
            if optional:
                if type(item) is not Optional:
                    raise CelError(f"cannot initialize optional entry '{name}' from non-optional value {item}")
                if not item.present:
                    out.pop(name, None)
                    continue
                item = item.value
            out[name] = item
        run.spend(_MAP)
        return out

    return step


class LazyValue:
    """A value that is computed when it is first asked for, and fails again each time if it failed."""

    __slots__ = ("_found", "_outer", "_step")

    def __init__(self, step: Step, outer: dict[str, Any]) -> None:
        self._step = step
        self._outer = outer
        self._found: list[Any] = []

    def __call__(self, run: Evaluation) -> Any:
        if not self._found:
            inner, run.variables = run.variables, self._outer
            try:
                self._found.append(self._step(run))
            except CelError as error:
                self._found.append(error)
            finally:
                run.variables = inner
        if isinstance(self._found[0], CelError):
            raise self._found[0]
        return self._found[0]


def bind(node: BindNode, value: Step, result: Step) -> Step:
    name, kind = node.name, node.kind

    def scoped(run: Evaluation, bound: Any) -> Any:
        outer = run.variables
        run.variables = {**outer, name: bound}
        try:
            return result(run)
        finally:
            run.variables = outer

    def named(run: Evaluation) -> Any:
        return scoped(run, LazyValue(value, run.variables))

    def over_optional(run: Evaluation) -> Any:
        found = value(run)
        if type(found) is not Optional:
            raise CelError(f"{NO_OVERLOAD}: hasValue({type_name(found)})")
        if not found.present:
            return NONE
        mapped = scoped(run, found.value)
        return Optional(True, mapped) if kind == "optMap" else mapped

    return named if kind == "bind" else over_optional
