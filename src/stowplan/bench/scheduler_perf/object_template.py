"""Templates of objects: YAML with the few actions of Go's text/template that the suite uses."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import fmod, prod
from pathlib import Path
from typing import Any

import yaml

from stowplan.errors import InputError

_ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "AddFloat": lambda *numbers: sum(numbers),
    "AddInt": lambda *numbers: int(sum(numbers)),
    "SubtractFloat": lambda a, b: a - b,
    "SubtractInt": lambda a, b: int(a - b),
    "MultiplyFloat": lambda *numbers: prod(numbers),
    "MultiplyInt": lambda *numbers: int(prod(numbers)),
    "DivideFloat": lambda a, b: a / b,
    "DivideInt": lambda a, b: int(a / b),
    "Mod": lambda a, b: int(fmod(int(a), int(b))),
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ObjectTemplate:
    """A file of the suite. `object` returns the object with an index, out of `count`."""

    def __init__(self, path: Path) -> None:
        try:
            self._text = path.read_text("utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        self._path = path
        self._static = _ACTION.search(self._text) is None

    @property
    def static(self) -> bool:
        """Whether all objects are equal."""
        return self._static

    def object(self, index: int = 0, count: int = 1) -> dict[str, Any]:
        text = _ACTION.sub(lambda match: self._value(match[1], {".Index": index, ".Count": count}), self._text)
        loaded: dict[str, Any] = yaml.load(text, _LOADER)
        return loaded

    def _value(self, action: str, fields: dict[str, int]) -> str:
        first, *arguments = action.split()
        if first in fields:
            return str(fields[first])
        function = _FUNCTIONS.get(first)
        if function is None:
            raise InputError(f"{self._path}: unknown template action {{{{ {action} }}}}")
        value = function(*(float(fields.get(argument, argument)) for argument in arguments))
        return f"{value:.15g}"
