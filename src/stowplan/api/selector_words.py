"""Selectors and topology keys in words, as kubectl writes selectors: `app=web`, `pool in (a, b)`, `!gpu`."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api.node_selectors import CompiledNodeSelector, CompiledTerm
from stowplan.api.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, Selector, SelectorRequirement

_TOPOLOGY_WORDS = {
    "kubernetes.io/hostname": "node",
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
    "failure-domain.beta.kubernetes.io/zone": "zone",
    "failure-domain.beta.kubernetes.io/region": "region",
}


def requirement_in_words(requirement: SelectorRequirement) -> str:
    """One requirement: `app=web`, `pool notin (a, b)`, `gpu`, `!gpu`, `cores>4`."""
    key, operator, values = requirement
    if operator == IN and len(values) == 1:
        return f"{key}={values[0]}"
    if operator == EXISTS:
        return key
    if operator == DOES_NOT_EXIST:
        return f"!{key}"
    if operator in ("Gt", "Lt"):
        return f"{key}{'>' if operator == GT else '<'}{values[0]}"
    return f"{key} {'in' if operator == IN else 'notin'} ({', '.join(values)})"


def selector_in_words(selector: Selector) -> str:
    """All requirements; `any label` for the selector of everything."""
    if selector.nothing:
        return "no label"
    return ",".join(requirement_in_words(each) for each in selector.requirements) or "any label"


def node_selector_in_words(selector: CompiledNodeSelector) -> str:
    """The alternatives of a node selector, with the short words for topology keys: `zone=eu-west-1b`."""
    return " or ".join(term_in_words(term) for term in selector.terms) or "no node"


def term_in_words(term: CompiledTerm) -> str:
    """The requirements of a term, with the short words for topology keys."""
    labels = [each._replace(key=topology_in_words(each.key)) for each in term.labels]
    return ",".join(requirement_in_words(each) for each in (*labels, *term.fields))


def topology_in_words(key: str) -> str:
    """`zone`, `node`, `region`; other keys as they are."""
    return _TOPOLOGY_WORDS.get(key, key)


def domains_in_words(key: str) -> str:
    """The domains of a topology key, in the plural."""
    word = topology_in_words(key)
    return f"{word}s" if word != key else f"domains of {key}"


def listed(names: Iterable[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, final = [*names] or [""]
    return f"{', '.join(others)} {last} {final}" if others else final


def pods_in_words(count: int, what: str = "pod") -> str:
    """`1 pod`, `1,234 pods`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
