"""Device selectors: expressions, compiled once each on first use, evaluated for a device.

Upstream: k8s.io/dynamic-resource-allocation/cel/compile.go, k8s.io/dynamic-resource-allocation/cel/cache.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stowplan.cel import (
    format_library,
    list_library,
    network_library,
    quantity_library,
    semver_library,
    standard_library,
    string_library,
    time_library,
)
from stowplan.cel.checker import Checker
from stowplan.cel.device import FIELDS, DeviceValue
from stowplan.cel.interpreter import Evaluation, Step, plan
from stowplan.cel.library import Library, Overload
from stowplan.cel.parser import parse
from stowplan.cel.syntax import CompileError, display
from stowplan.cel.types import ANY, BOOL, DEVICE, Type, TypeLimitError, parse_type, substitute
from stowplan.cel.validators import Validator
from stowplan.cel.values import CelError, EvaluationStoppedError, type_name

_LIBRARIES: tuple[Library, ...] = tuple(
    module.LIBRARY
    for module in (
        standard_library,
        time_library,
        quantity_library,
        semver_library,
        string_library,
        list_library,
        network_library,
        format_library,
    )
)
_TYPE_NAMES = (
    *("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint", "null"),
    *("list(dyn)", "map(dyn, dyn)", "optional(dyn)", "ip", "cidr"),
)
_MAX_CACHED_SELECTORS, _MAX_CACHED_CHARACTERS = 4096, 1 << 18
"""A compiled expression has up to 10,240 characters, and takes up to 170 bytes for each: 43 MiB at most together."""
_MAX_ERROR_CHARACTERS = 4096
"""Characters of the error of an evaluation, which may quote a text of megabytes."""
_MAX_KEPT_RESULTS = 256
"""Results of an expensive expression that are kept, each for all equal devices."""
_TOO_DEEP = "expression recursion limit exceeded: 250"
_TOO_LARGE_TYPES = "types of the expression are too large to check"


def _functions() -> dict[str, Sequence[Overload]]:
    functions: dict[str, Sequence[Overload]] = {}
    for library in _LIBRARIES:
        for name, overloads in library.functions.items():
            functions[name] = (*functions.get(name, ()), *overloads)
    return functions


_FUNCTIONS = _functions()
_TYPES = {kind.name: Type("type", (kind,)) for kind in map(parse_type, _TYPE_NAMES)}
_SCOPE = {"device": DEVICE, **_TYPES}


class DeviceSelectorProgram:
    """An expression, compiled on first use. Compared by identity: `compile_selector` returns one object per text."""

    __slots__ = ("__weakref__", "_kept", "_plan", "expression")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._kept: dict[bytes, bool | str] = {}
        """By identity of the device, results of evaluations that were expensive."""
        self._plan: Step | str | None = None

    @property
    def error(self) -> str | None:
        """The error of the compiler."""
        plan = self._compiled
        return plan if isinstance(plan, str) else None

    @property
    def _compiled(self) -> Step | str:
        """What the compiler made of the expression, or its error.

        A claim may have a thousand selectors that each take a third of a second to compile. Callers check the time
        before they use one.
        """
        if self._plan is None:
            self._plan = _compile_or_error(self.expression)
        return self._plan

    def matches(self, device: DeviceValue) -> bool | str:
        """Whether the device matches, or the error of the evaluation."""
        if device.error is not None:
            return device.error
        if self._kept and (kept := self._kept.get(device.identity)) is not None:
            return kept
        evaluation = Evaluation(dict(device.variables))
        result = self._evaluate(evaluation)
        if isinstance(result, str):
            result = result[:_MAX_ERROR_CHARACTERS]
        if evaluation.is_expensive:
            if len(self._kept) >= _MAX_KEPT_RESULTS:
                self._kept.clear()
            self._kept[device.identity] = result
        return result

    def _evaluate(self, evaluation: Evaluation) -> bool | str:
        step = self._compiled
        assert not isinstance(step, str)
        try:
            result = step(evaluation)
        except CelError as error:
            return str(error)
        except EvaluationStoppedError as error:
            return str(error)
        except RecursionError:
            return _TOO_DEEP
        except Exception as bug:
            # As cel-go handles a panic. An expression must not end the scheduling loop.
            return f"internal error: {bug}"
        if type(result) is bool:
            return result
        return f"CEL result of type {type_name(result)} could not be converted to bool: {_conversion_error(result)}"


def _conversion_error(value: Any) -> str:
    kind = type_name(value)
    if kind == "string":
        return "unsupported native conversion from string to 'bool'"
    if "." not in kind:
        return f"unsupported type conversion from '{kind}' to bool"
    return f"type conversion error from '{kind.rpartition('.')[2]}' to 'bool'"


class SelectorCache:
    """Compiled expressions by text; the least recently used are dropped."""

    def __init__(self, max_selectors: int, max_characters: int) -> None:
        self._max_selectors, self._max_characters = max_selectors, max_characters
        self._programs: dict[str, DeviceSelectorProgram] = {}
        """The latest last."""
        self.characters = 0

    def __len__(self) -> int:
        return len(self._programs)

    def get(self, expression: str) -> DeviceSelectorProgram:
        program = self._programs.pop(expression, None)
        if program is None:
            program = DeviceSelectorProgram(expression)
            self.characters += len(expression)
        self._programs[expression] = program
        while len(self._programs) > self._max_selectors or self.characters > self._max_characters:
            oldest = next(iter(self._programs))
            del self._programs[oldest]
            self.characters -= len(oldest)
        return program


compile_selector = SelectorCache(_MAX_CACHED_SELECTORS, _MAX_CACHED_CHARACTERS).get
"""The program of an expression, compiled on first use. Programs are cached."""


def _compile_or_error(expression: str) -> Step | str:
    try:
        return _compile(expression)
    except CompileError as error:
        return error.text
    except TypeLimitError:
        return f"compilation failed: ERROR: <input>:1:1: {_TOO_LARGE_TYPES}"
    except RecursionError:
        return f"compilation failed: ERROR: <input>:1:1: {_TOO_DEEP}"


def _compile(expression: str) -> Step:
    try:
        tree = parse(expression)
        checker = Checker(_FUNCTIONS, FIELDS)
        found = checker.check(tree, _SCOPE)
        errors = checker.errors
        if not errors:
            validator = Validator(checker.bound)
            validator.validate(tree)
            errors = validator.errors
    except CompileError as error:
        errors = [(error.text, error.at)]
    if errors:
        lines = "\n".join(display(expression, text, at) for text, at in sorted(errors, key=lambda e: e[1]))
        raise CompileError(f"compilation failed: {lines}", 0)
    output = substitute(checker.bound, found, free_as_dyn=True)
    if output not in (BOOL, ANY):
        raise CompileError(f"must evaluate to bool or the unknown type, not {output.declared()}", 0)
    try:
        return plan(tree, {name: name for name in _TYPES})
    except CelError as error:
        raise CompileError(f"program instantiation failed: {error}", 0) from None
