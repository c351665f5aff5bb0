"""Checks of parts that many kinds share: quantities, selectors, enumerations.

A check yields (path, text) per problem; the path is relative to the checked value. Checks of a valid object format no
text.

Upstream: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go, pkg/apis/core/validation/validation.go
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from stowplan.api.affinity import NodeSelector, NodeSelectorTerm
from stowplan.api.meta import LabelSelector, ObjectMeta, Quantity, ResourceList
from stowplan.api.names import label_key_errors
from stowplan.api.node_selectors import FIELD_OPERATORS, NODE_NAME_FIELD, NODE_OPERATORS
from stowplan.api.quantity import QuantityError, parse
from stowplan.api.selectors import SelectorError, compile_label_selector, quoted, value_count_error
from stowplan.api.text_cache import text_cache
from stowplan.api.volumes import PersistentVolumeClaimSpec

Problems: TypeAlias = Iterator[tuple[str, str]]

_is_percentage = re.compile(r"[0-9]+%").fullmatch
_is_part = re.compile(r"0*(100|[0-9]{1,2})%").fullmatch


def below(path: str, problems: Iterable[tuple[str, str]]) -> Problems:
    """The problems with a prefix in front of their paths."""
    for where, problem in problems:
        yield path + where, problem


def metadata(meta: ObjectMeta) -> Problems:
    """An object must have a name."""
    if not meta.name:
        yield ".metadata.name", "must not be empty"


def one_of(path: str, word: str, allowed: Collection[str]) -> Problems:
    """A value must be one of the allowed ones."""
    if word not in allowed:
        yield path, f"must be one of {', '.join(quoted(each) for each in allowed)}: {quoted(word)}"


def not_negative(path: str, number: int | None) -> Problems:
    """A number must be absent or at least zero."""
    if number is not None and number < 0:
        yield path, f"must be greater than or equal to 0: {number}"


def int_or_percent(path: str, amount: int | str | None) -> Problems:
    """A number must be at least zero, a percentage at most 100%."""
    if not isinstance(amount, str):
        yield from not_negative(path, amount)
    elif not _is_percentage(amount):
        yield path, f"a valid percent string must be a numeric string followed by an ending '%': {quoted(amount)}"
    elif not _is_part(amount):
        yield path, f"must not be greater than 100%: {quoted(amount)}"


def quantities(path: str, resources: ResourceList) -> Problems:
    """Amounts of resources must be quantities of at least zero."""
    for name, amount in resources.items():
        if problem := quantity_problem(amount):
            yield f"{path}.{name}" if name.isidentifier() else f"{path}[{quoted(name)}]", problem


def quantity(path: str, amount: Quantity | None) -> Problems:
    """An amount must be absent or a quantity of at least zero."""
    if amount is not None and (problem := quantity_problem(amount)):
        yield path, problem


@text_cache(1 << 16)
def quantity_problem(amount: Quantity) -> str | None:
    """The problem of an amount, None if it is valid."""
    try:
        negative = parse(amount) < 0
    except QuantityError as error:
        return str(error)
    return f"must not be negative: {quoted(str(amount))}" if negative else None


def label_selector(path: str, selector: LabelSelector | None) -> Problems:
    """A label selector must be one that Kubernetes can parse."""
    if selector is not None and (selector.match_labels or selector.match_expressions):
        try:
            compile_label_selector(selector)
        except SelectorError as error:
            yield path, str(error)


def node_selector(path: str, selector: NodeSelector | None) -> Problems:
    """Every term of a node selector must be valid."""
    if selector is not None:
        for i, term in enumerate(selector.node_selector_terms):
            yield from node_selector_term(f"{path}.nodeSelectorTerms[{i}]", term)


def node_selector_term(path: str, term: NodeSelectorTerm) -> Problems:
    """Operators must be known and have the right number of values.

    The values are not checked: Kubernetes accepts terms whose values can match no label.
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
    """The spec of a claim must have valid quantities and a valid selector."""
    yield from quantities(f"{path}.resources.requests", spec.resources.requests)
    yield from label_selector(f"{path}.selector", spec.selector)
