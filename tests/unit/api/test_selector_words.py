"""Selectors in words."""

from __future__ import annotations

import pytest

from stowplan import api
from stowplan.api import selector_words
from stowplan.api.selectors import EVERYTHING, NOTHING, Selector, SelectorRequirement


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (SelectorRequirement("app", "In", ("web",)), "app=web"),
        (SelectorRequirement("pool", "In", ("a", "b")), "pool in (a, b)"),
        (SelectorRequirement("pool", "NotIn", ("a",)), "pool notin (a)"),
        (SelectorRequirement("gpu", "Exists"), "gpu"),
        (SelectorRequirement("gpu", "DoesNotExist"), "!gpu"),
        (SelectorRequirement("cores", "Gt", ("4",)), "cores>4"),
        (SelectorRequirement("cores", "Lt", ("4",)), "cores<4"),
    ],
)
def test_a_requirement_is_written_as_kubectl_does(requirement: SelectorRequirement, words: str) -> None:
    assert selector_words.requirement_in_words(requirement) == words


def test_selectors_and_topologies() -> None:
    both = Selector((SelectorRequirement("app", "In", ("web",)), SelectorRequirement("gpu", "Exists")))
    assert selector_words.selector_in_words(both) == "app=web,gpu"
    assert selector_words.selector_in_words(EVERYTHING) == "any label"
    assert selector_words.selector_in_words(NOTHING) == "no label"
    zone = api.NodeSelectorRequirement(key="topology.kubernetes.io/zone", operator="In", values=("x",))
    name = api.NodeSelectorRequirement(key="metadata.name", operator="In", values=("n",))
    terms = (api.NodeSelectorTerm(match_expressions=(zone,)), api.NodeSelectorTerm(match_fields=(name,)))
    compiled = api.compile_node_selector(api.NodeSelector(node_selector_terms=terms))
    assert sorted(selector_words.node_selector_in_words(compiled).split(" or ")) == ["metadata.name=n", "zone=x"]
    assert selector_words.domains_in_words("kubernetes.io/hostname") == "nodes"
    assert selector_words.domains_in_words("rack") == "domains of rack"


def test_lists_and_numbers() -> None:
    assert selector_words.listed([]) == ""
    assert selector_words.listed(["a", "b", "c"], "or") == "a, b or c"
    assert [selector_words.pods_in_words(count) for count in (0, 1, 1234)] == ["0 pods", "1 pod", "1,234 pods"]
