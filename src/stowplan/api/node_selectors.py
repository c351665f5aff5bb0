"""Node selectors, compiled: alternatives of requirements on labels and on the node's name.

Kubernetes parses leniently: a term that cannot be parsed matches no node, and the other terms apply. So a compiled
selector has the valid terms, and the text of the errors.

Upstream: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from collections.abc import Iterable, Mapping

import msgspec

from stowplan.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from stowplan.api.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    SelectorRequirement,
    canonical,
    joined,
    listed,
    quoted,
    requirement,
    requirement_errors,
    requirements_match,
)

__all__ = [
    "CompiledNodeSelector", "CompiledPreferredTerms", "CompiledTerm", "WeightedTerm", "compile_node_selector",
    "compile_preferred_terms",
]  # fmt: skip

NODE_NAME_FIELD = "metadata.name"

NODE_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
FIELD_OPERATORS = (IN, NOT_IN)


class CompiledTerm(msgspec.Struct, frozen=True, cache_hash=True, order=True):
    """Requirements on labels and on fields that must all hold; equal terms are equal values."""

    labels: tuple[SelectorRequirement, ...] = ()
    fields: tuple[SelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name matches; fields of a node without a name are not checked."""
        if not requirements_match(self.labels, labels):
            return False
        return not node_name or all(field_matches(field, node_name) for field in self.fields)


class CompiledNodeSelector(msgspec.Struct, frozen=True, cache_hash=True):
    """Terms, one of which must match; without terms no node matches."""

    terms: tuple[CompiledTerm, ...] = ()
    error: str | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that the result depends on."""
        return frozenset(requirement.key for term in self.terms for requirement in term.labels)

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name is selected."""
        return any(term.matches(labels, node_name) for term in self.terms)


class WeightedTerm(msgspec.Struct, frozen=True, cache_hash=True, order=True):
    """A term and its weight."""

    term: CompiledTerm
    weight: int


class CompiledPreferredTerms(msgspec.Struct, frozen=True, cache_hash=True):
    """Preferred terms; if one cannot be parsed there is only the error."""

    terms: tuple[WeightedTerm, ...] = ()
    error: str | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that the result depends on."""
        return frozenset(requirement.key for weighted in self.terms for requirement in weighted.term.labels)

    def score(self, labels: Mapping[str, str], node_name: str) -> int:
        """The sum of the weights of the terms that match."""
        return sum(weighted.weight for weighted in self.terms if weighted.term.matches(labels, node_name))


def field_matches(field: SelectorRequirement, node_name: str) -> bool:
    """Whether a node of this name satisfies a field requirement. metadata.name is the only field; others are empty."""
    present = node_name if field.key == NODE_NAME_FIELD else ""
    return (present == field.values[0]) == (field.operator == IN)


def compile_node_selector(selector: NodeSelector) -> CompiledNodeSelector:
    """Compile a required node selector; terms that cannot be parsed are dropped, and `error` has the texts."""
    terms = set()
    errors: list[str] = []
    for i, term in enumerate(selector.node_selector_terms):
        if not _is_empty(term):
            problems = term_errors(term, f"nodeSelectorTerms[{i}]")
            errors += problems
            if not problems:
                terms.add(_compile_term(term))
    return CompiledNodeSelector(tuple(sorted(terms)), joined(errors) if errors else None)


def compile_preferred_terms(terms: Iterable[PreferredSchedulingTerm]) -> CompiledPreferredTerms:
    """Compile preferred terms, leaving out those without weight or without requirements."""
    weighted: list[WeightedTerm] = []
    errors: list[str] = []
    for i, preferred in enumerate(terms):
        if preferred.weight and not _is_empty(preferred.preference):
            problems = term_errors(preferred.preference, f"[{i}]")
            errors += problems
            if not problems:
                weighted.append(WeightedTerm(_compile_term(preferred.preference), preferred.weight))
    if errors:
        return CompiledPreferredTerms(error=joined(errors))
    return CompiledPreferredTerms(tuple(sorted(weighted)))


def term_errors(term: NodeSelectorTerm, path: str) -> list[str]:
    """Kubernetes' errors of a term, each with its field below `path`."""
    errors: list[str] = []
    for i, expression in enumerate(term.match_expressions):
        key, operator, values = expression.key, expression.operator, expression.values
        if operator not in NODE_OPERATORS:
            errors.append(_unsupported(f"{path}.matchExpressions[{i}]", expression, NODE_OPERATORS))
        elif requirement_errors(key, operator, values):  # Only a requirement with errors needs its path.
            errors += requirement_errors(key, operator, values, f"{path}.matchExpressions[{i}]")
    for i, field in enumerate(term.match_fields):
        at = f"{path}.matchFields[{i}]"
        if field.operator not in FIELD_OPERATORS:
            errors.append(_unsupported(at, field, FIELD_OPERATORS))
        elif len(field.values) != 1:
            errors.append(f"{at}.values: Invalid value: {listed(field.values)}: must have one element")
    return errors


def _compile_term(term: NodeSelectorTerm) -> CompiledTerm:
    return CompiledTerm(_requirements(term.match_expressions), _requirements(term.match_fields))


def _requirements(expressions: Iterable[NodeSelectorRequirement]) -> tuple[SelectorRequirement, ...]:
    return canonical(requirement(e.key, e.operator, e.values) for e in expressions)


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _unsupported(path: str, expression: NodeSelectorRequirement, supported: Iterable[str]) -> str:
    choices = ", ".join(quoted(operator) for operator in supported)
    return f"{path}.operator: Unsupported value: {quoted(expression.operator)}: supported values: {choices}"
