"""Checks of parts that many kinds share: quantities, selectors, words from a fixed set.

A check yields problems as pairs of a path, relative to what was checked, and a text. Nothing is yielded, and next to
nothing is formatted, for a sound object.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from stowplan.api.affinity import NodeSelector, NodeSelectorTerm
from stowplan.api.meta import LabelSelector, ObjectMeta, Quantity, ResourceList
from stowplan.api.names import label_key_errors
from stowplan.api.node_selectors import FIELD_OPERATORS, NODE_NAME_FIELD, NODE_OPERATORS
from stowplan.api.quantity import QuantityError, parse
from stowplan.api.selectors import SelectorError, compile_label_selector, quoted, value_count_error
from stowplan.api.volumes import PersistentVolumeClaimSpec

Problems: TypeAlias = Iterator[tuple[str, str]]

_is_percentage = re.compile(r"[0-9]+%").fullmatch
_is_part = re.compile(r"0*(100|[0-9]{1,2})%").fullmatch


def below(path: str, problems: Iterable[tuple[str, str]]) -> Problems:
    """The same problems, seen from further up."""
    for where, problem in problems:
        yield path + where, problem


def metadata(meta: ObjectMeta) -> Problems:
    """An object must have a name."""
    if not meta.name:
        yield ".metadata.name", "must not be empty"


def one_of(path: str, word: str, allowed: Collection[str]) -> Problems:
    """A word must be one of those allowed."""
    if word not in allowed:
        yield path, f"must be one of {', '.join(quoted(each) for each in allowed)}: {quoted(word)}"


def not_negative(path: str, number: int | None) -> Problems:
    """A number, where there is one, must be at least zero."""
    if number is not None and number < 0:
        yield path, f"must be greater than or equal to 0: {number}"


def int_or_percent(path: str, amount: int | str | None) -> Problems:
    """A number must be at least zero, a percentage at most the whole."""
    if not isinstance(amount, str):
        yield from not_negative(path, amount)
    elif not _is_percentage(amount):
        yield path, f"a valid percent string must be a numeric string followed by an ending '%': {quoted(amount)}"
    elif not _is_part(amount):
        yield path, f"must not be greater than 100%: {quoted(amount)}"


def quantities(path: str, resources: ResourceList) -> Problems:
    """Amounts of resources must be quantities, and not negative."""
    for name, amount in resources.items():
        if problem := quantity_problem(amount):
            yield f"{path}.{name}" if name.isidentifier() else f"{path}[{quoted(name)}]", problem


def quantity(path: str, amount: Quantity | None) -> Problems:
    """An amount, where there is one, must be a quantity, and not negative."""
    if amount is not None and (problem := quantity_problem(amount)):
        yield path, problem


@lru_cache(1 << 16)
def quantity_problem(amount: Quantity) -> str | None:
    """What is wrong with an amount, if anything."""
    try:
        negative = parse(amount) < 0
    except QuantityError as error:
        return str(error)
    return f"must not be negative: {quoted(str(amount))}" if negative else None


def label_selector(path: str, selector: LabelSelector | None) -> Problems:
    """A label selector must be one that upstream can parse."""
    if selector is not None and (selector.match_labels or selector.match_expressions):
        try:
            compile_label_selector(selector)
        except SelectorError as error:
            yield path, str(error)


def node_selector(path: str, selector: NodeSelector | None) -> Problems:
    """Every term of a node selector must be sound."""
    if selector is not None:
        for i, term in enumerate(selector.node_selector_terms):
            yield from node_selector_term(f"{path}.nodeSelectorTerms[{i}]", term)


def node_selector_term(path: str, term: NodeSelectorTerm) -> Problems:
    """Operators must exist and have as many values as they take.

    What the values are is not looked at: Kubernetes stores terms whose values can match no label, and means it.
    """
    for i, expression in enumerate(term.match_expressions):
        at = f"{path}.matchExpressions[{i}]"
        for problem in label_key_errors(expression.key):
            yield f"{at}.key", f"{problem}: {quoted(expression.key)}"
        if expression.operator not in NODE_OPERATORS:
            yield from one_of(f"{at}.operator", expression.operator, NODE_OPERATORS)
        elif wrong := value_count_error(expression.operator, expression.values):
            yield f"{at}.values", wrong
    for i, field in enumerate(term.match_fields):
        at = f"{path}.matchFields[{i}]"
        yield from one_of(f"{at}.key", field.key, (NODE_NAME_FIELD,))
        yield from one_of(f"{at}.operator", field.operator, FIELD_OPERATORS)
        if len(field.values) != 1:
            yield f"{at}.values", "must have one element"


def claim_spec(path: str, spec: PersistentVolumeClaimSpec) -> Problems:
    """What a claim asks for must be quantities and a sound selector."""
    yield from quantities(f"{path}.resources.requests", spec.resources.requests)
    yield from label_selector(f"{path}.selector", spec.selector)
