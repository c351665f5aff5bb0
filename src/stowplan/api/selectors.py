"""Label selectors, compiled to a canonical, hashable form.

Upstream: k8s.io/apimachinery/pkg/labels/selector.go
"""

import re
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from stowplan.api.meta import LabelSelector
from stowplan.api.names import label_key_errors, label_value_errors
from stowplan.errors import InputError

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "Selector",
    "SelectorError",
    "SelectorRequirement",
    "compile_label_selector",
    "selector_from_map",
]

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GT = "Gt"
LT = "Lt"

LABEL_OPERATORS = frozenset((IN, NOT_IN, EXISTS, DOES_NOT_EXIST))

_SET_RULE = ((1, sys.maxsize), "for 'in', 'notin' operators, values set can't be empty")
_PRESENCE_RULE = ((0, 0), "values set must be empty for exists and does not exist")
_ORDER_RULE = ((1, 1), "for 'Gt', 'Lt' operators, exactly one value is required")
_VALUE_COUNTS = {
    IN: _SET_RULE,
    NOT_IN: _SET_RULE,
    EXISTS: _PRESENCE_RULE,
    DOES_NOT_EXIST: _PRESENCE_RULE,
    GT: _ORDER_RULE,
    LT: _ORDER_RULE,
}

_INT64_DIGITS = 19
_match_int = re.compile(rf"([+-]?)0*([0-9]{{1,{_INT64_DIGITS}}})").fullmatch


class SelectorError(InputError):
    """A selector that Kubernetes cannot parse."""


class SelectorRequirement(NamedTuple):
    """A label key, an operator, and the values it is compared with, sorted and without duplicates."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Selector(msgspec.Struct, frozen=True, cache_hash=True):
    """Requirements that must all hold. Selectors with the same meaning are equal.

    `nothing` marks the selector of an absent `LabelSelector`, which matches no object at all.
    """

    requirements: tuple[SelectorRequirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """Whether everything matches."""
        return not self.requirements and not self.nothing

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that the result depends on."""
        return frozenset(requirement.key for requirement in self.requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return not self.nothing and requirements_match(self.requirements, labels)

    def conjoin(self, other: "Selector") -> "Selector":
        """The conjunction of two selectors."""
        if self.nothing or other.nothing:
            return NOTHING
        return Selector(canonical((*self.requirements, *other.requirements)))


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def requirements_match(requirements: Iterable[SelectorRequirement], labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold. An absent label satisfies only NotIn and DoesNotExist."""
    for key, operator, values in requirements:
        label = labels.get(key)
        if operator == IN:
            if label not in values:
                return False
        elif operator == NOT_IN:
            if label in values:
                return False
        elif operator == EXISTS:
            if label is None:
                return False
        elif operator == DOES_NOT_EXIST:
            if label is not None:
                return False
        elif label is None or not compares(label, operator, values[0]):
            return False
    return True


def compares(label: str, operator: str, bound: str) -> bool:
    """Whether a label is above (Gt) or below (Lt) a bound; False unless both are int64."""
    left, right = parse_int64(label), parse_int64(bound)
    if left is None or right is None:
        return False
    return left > right if operator == GT else left < right


def parse_int64(text: str) -> int | None:
    """A decimal integer that fits 64 bits, with any number of leading zeros; or None."""
    if len(text) < _INT64_DIGITS and text.isdigit() and text.isascii():  # Three times as fast, and the usual case.
        return int(text)
    found = _match_int(text)
    number = int("".join(found.groups())) if found is not None else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def canonical(requirements: Iterable[SelectorRequirement]) -> tuple[SelectorRequirement, ...]:
    """Requirements in canonical order."""
    return tuple(sorted(set(requirements)))


def selector_from_map(labels: Mapping[str, str]) -> Selector:
    """The selector of objects with all these labels. As upstream, their syntax is not checked."""
    return Selector(canonical(SelectorRequirement(key, IN, (value,)) for key, value in labels.items()))


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile a selector of the API. Raises SelectorError if Kubernetes cannot parse it."""
    if selector is None:
        return NOTHING
    requirements = []
    for key, value in selector.match_labels.items():
        _raise_if(requirement_errors(key, IN, (value,)))
        requirements.append(SelectorRequirement(key, IN, (value,)))
    for expression in selector.match_expressions:
        if expression.operator not in LABEL_OPERATORS:
            raise SelectorError(f"{quoted(expression.operator)} is not a valid label selector operator")
        _raise_if(requirement_errors(expression.key, expression.operator, expression.values))
        requirements.append(requirement(expression.key, expression.operator, expression.values))
    return Selector(canonical(requirements))


def requirement(key: str, operator: str, values: Iterable[str]) -> SelectorRequirement:
    """A requirement with its values in canonical order."""
    return SelectorRequirement(key, operator, tuple(sorted(set(values))))


def requirement_errors(key: str, operator: str, values: tuple[str, ...], path: str = "") -> list[str]:
    """Kubernetes' errors of a requirement, each with its field below `path`."""
    dot = f"{path}." if path else ""
    errors: list[str] = []
    if problems := label_key_errors(key):
        errors.append(_invalid(f"{dot}key", quoted(key), *problems))
    if wrong := value_count_error(operator, values):
        errors.append(_invalid(f"{dot}values", listed(values), wrong))
    if operator in (GT, LT):
        problem = "for 'Gt', 'Lt' operators, the value must be an integer"
        for i, value in enumerate(values):
            if parse_int64(value) is None:
                errors.append(_invalid(f"{dot}values[{i}]", quoted(value), problem))
    for i, value in enumerate(values):
        if problems := label_value_errors(value):
            errors.append(_invalid(f"{dot}values[{i}][{key}]", quoted(value), *problems))
    return errors


def value_count_error(operator: str, values: tuple[str, ...]) -> str | None:
    """The error of an operator's number of values, None if it is right."""
    (fewest, most), problem = _VALUE_COUNTS[operator]
    return None if fewest <= len(values) <= most else problem


def joined(errors: Iterable[str]) -> str:
    """Errors as Kubernetes prints them: without duplicates, in brackets if more than one."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def quoted(text: str) -> str:
    """A text in double quotes, on one line."""
    return msgspec.json.encode(text).decode()


def listed(values: tuple[str, ...]) -> str:
    """A list of texts as Kubernetes prints it."""
    return msgspec.json.encode(values).decode() if values else "null"


def _invalid(path: str, shown: str, *problems: str) -> str:
    return f"{path}: Invalid value: {shown}: {'; '.join(problems)}"


def _raise_if(errors: list[str]) -> None:
    if errors:
        raise SelectorError(joined(errors))
