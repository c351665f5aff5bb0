"""Lists and maps: literals, fields, keys and elements, plain or optional; and `cel.bind`.

Upstream: github.com/google/cel-go/interpreter/attributes.go, github.com/google/cel-go/interpreter/interpretable.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stowplan.cel.cost import ENTRY_WORK, ITEM_WORK
from stowplan.cel.syntax import BindNode
from stowplan.cel.values import (
    EMPTY_DOMAIN,
    NO_OVERLOAD,
    NONE,
    CelError,
    Domains,
    Optional,
    UInt,
    shown,
    type_name,
)

if TYPE_CHECKING:
    from stowplan.cel.interpreter import Evaluation, Step

_LIST_COST, _MAP_COST = 10, 30

_KEY_TYPES = frozenset((str, int, bool, UInt))
_MISSING = object()


def select(value: Any, name: str) -> Any:
    """A field by its name."""
    found = _entry(value, name)
    if found is _MISSING:
        raise CelError(f"no such key: {name}")
    return found


def find(value: Any, name: str) -> Optional:
    """A field as an optional; of an optional, the field of its value."""
    if type(value) is Optional:
        return find(value.value, name) if value.present else NONE
    found = _entry(value, name)
    return NONE if found is _MISSING else Optional(True, found)


def is_present(value: Any, name: str) -> bool:
    """Whether a value has a field."""
    if type(value) is Optional:
        return value.present and is_present(value.value, name)
    return _entry(value, name) is not _MISSING


def index(value: Any, at: Any) -> Any:
    """An element of a list or an entry of a map."""
    if type(value) is Optional:
        return present_index(value, at)
    if type(value) is list:
        position = _position(at)
        if not 0 <= position < len(value):
            raise CelError(f"index out of bounds: {position}")
        return value[position]
    if isinstance(value, dict):
        found = _keyed(value, at)
        if found is _MISSING:
            raise CelError(f"no such key: {shown(at)}")
        return found
    raise CelError(f"no such key: {shown(at)}")


def present_index(value: Any, at: Any) -> Optional:
    """An element or an entry as an optional."""
    if type(value) is Optional:
        return present_index(value.value, at) if value.present else NONE
    if type(value) is list:
        position = _position(at)
        return Optional(True, value[position]) if 0 <= position < len(value) else NONE
    if isinstance(value, dict):
        found = _keyed(value, at)
        return NONE if found is _MISSING else Optional(True, found)
    raise CelError(NO_OVERLOAD)


def _entry(value: Any, name: str) -> Any:
    if type(value) is Domains:
        return value.get(name, EMPTY_DOMAIN)
    if type(value) is list:
        raise CelError("unsupported index type 'string' in list")
    return value.get(name, _MISSING) if isinstance(value, dict) else _MISSING


def _keyed(value: dict[Any, Any], at: Any) -> Any:
    if type(value) is Domains and isinstance(at, str):
        return value.get(at, EMPTY_DOMAIN)
    if not isinstance(at, (str, int, float)):
        return _MISSING
    return value.get(at, _MISSING)


def _position(at: Any) -> int:
    if type(at) in (int, UInt) or (type(at) is float and at == int(at)):
        return int(at)
    raise CelError(f"unsupported index type '{type_name(at)}' in list")


def make_list(items: list[tuple[Step, bool]]) -> Step:
    def step(run: Evaluation) -> list[Any]:
        run.work(ITEM_WORK * len(items))
        out: list[Any] = []
        for item, optional in items:
            value = item(run)
            if not optional:
                out.append(value)
            elif type(value) is not Optional:
                raise CelError(f"cannot initialize optional list element from non-optional value {shown(value)}")
            elif value.present:
                out.append(value.value)
        run.spend(_LIST_COST)
        return out

    return step


def make_map(entries: list[tuple[Step, Step, bool]]) -> Step:
    def step(run: Evaluation) -> dict[Any, Any]:
        run.work(ENTRY_WORK * len(entries))
        out: dict[Any, Any] = {}
        for key, value, optional in entries:
            name, item = key(run), value(run)
            if type(name) not in _KEY_TYPES:
                raise CelError(f"unsupported key type: {type_name(name)}")
            if optional:
                if type(item) is not Optional:
                    raise CelError(f"cannot initialize optional entry '{name}' from non-optional value {shown(item)}")
                if not item.present:
                    out.pop(name, None)
                    continue
                item = item.value
            out[name] = item
        run.spend(_MAP_COST)
        return out

    return step


class LazyValue:
    """A value that is computed on first use; an error is raised again on each use."""

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
