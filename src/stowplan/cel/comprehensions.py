"""Comprehension macros over lists and maps. Each has the result and the cost of its expansion into a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from stowplan.cel.cost import ENTRY_WORK, charge_sort
from stowplan.cel.values import NO_OVERLOAD, CelError, compare, type_name

if TYPE_CHECKING:
    from stowplan.cel.interpreter import Evaluation, Step


def fold(kind: str, over: Step, names: tuple[str, ...], steps: Sequence[Step]) -> Step:
    """The closure of a macro."""
    run_macro = _MACROS[kind]

    def step(run: Evaluation) -> Any:
        rows = _rows(over(run), len(names))
        outer = run.variables
        inner = run.variables = dict(outer)
        try:
            return run_macro(run, _bound(inner, names, rows), steps)
        finally:
            run.variables = outer

    return step


def _rows(values: Any, width: int) -> Iterable[tuple[Any, ...]]:
    if type(values) is list:
        return enumerate(values) if width == 2 else zip(values, strict=False)
    if isinstance(values, dict):
        return values.items() if width == 2 else zip(values, strict=False)
    raise CelError(f"got '{type_name(values)}', expected iterable type")


def _bound(scope: dict[str, Any], names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    """Yield the rows; each is bound to the variables first."""
    for row in rows:
        scope.update(zip(names, row, strict=True))
        yield row


def _quantifier(stop: bool, cost: int) -> Callable[..., bool]:
    def run_macro(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> bool:
        failure: CelError | None = None
        for _ in rows:
            run.spend(cost)
            try:
                value = steps[0](run)
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

    return run_macro


def _holds(run: Evaluation, condition: Step) -> bool:
    value = condition(run)
    if type(value) is not bool:
        raise CelError(NO_OVERLOAD)
    return value


def _exists_one(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> bool:
    found = 0
    for _ in rows:
        run.spend(2)
        found += _holds(run, steps[0])
    return found == 1


def _filter(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> list[Any]:
    out: list[Any] = []
    for row in rows:
        run.spend(1)
        if _holds(run, steps[0]):
            run.spend(12)
            out.append(row[0])
    return out


def _mapped(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> Iterable[tuple[Any, Any]]:
    """Yield (key, transformed value) of the rows that pass the optional condition."""
    for row in rows:
        run.spend(1)
        if len(steps) == 1 or _holds(run, steps[0]):
            yield row[0], steps[-1](run)


def _map(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> list[Any]:
    out: list[Any] = []
    for _, value in _mapped(run, rows, steps):
        run.spend(11)
        out.append(value)
    return out


def _transform_map(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for key, value in _mapped(run, rows, steps):
        run.spend(2)
        run.work(ENTRY_WORK)
        out[key] = value
    return out


def _transform_entries(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for _, entries in _mapped(run, rows, steps):
        run.spend(1)
        if not isinstance(entries, dict):
            raise CelError(NO_OVERLOAD)
        run.work(ENTRY_WORK * len(entries))
        for key, value in entries.items():
            if key in out:
                raise CelError(f"insert failed: key {key} already exists")
            out[key] = value
    return out


def _sort_by(run: Evaluation, rows: Iterable[tuple[Any, ...]], steps: Sequence[Step]) -> list[Any]:
    keyed = [(steps[0](run), row[0]) for row in rows]
    if len({type(key) for key, _ in keyed}) > 1:
        raise CelError("list elements must have the same type")
    run.spend(2 * len(keyed) ** 2 + 11)
    charge_sort(run, [key for key, _ in keyed])
    order = cmp_to_key(compare)
    return [value for _, value in sorted(keyed, key=lambda pair: order(pair[0]))]


_MACROS: dict[str, Callable[..., Any]] = {
    "all": _quantifier(False, 3),
    "exists": _quantifier(True, 4),
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
    "sortBy": _sort_by,
}
