"""Values that are far larger than the expressions that make them."""

from __future__ import annotations

import time

import pytest
from tests.unit.cel.asking import TEXT, ask, chained

from stowplan.cel.cost import CPU_LIMIT_SECONDS

NESTED = "[x, x]"
SHARED = {
    "equal": "x == x",
    "unequal": "x != x",
    "in": "x in [x]",
    "includes": "dyn([x]).includes(x)",
    "index": "[x].indexOf(x) == 0",
    "last index": "[x].lastIndexOf(x) == 0",
    "distinct": "[x, x].distinct().size() == 1",
    "contains": "sets.contains([x], [x])",
    "intersects": "sets.intersects([x], [x])",
    "equivalent": "sets.equivalent([x], [x])",
    "maps": "{1: x} == {1: x}",
    "optionals": "optional.of(x) == optional.of(x)",
    "flattened": "dyn(x).flatten(100).size() == 1",
    "formatted": "'%s'.format([x]) == ''",
}


@pytest.mark.parametrize("name", SHARED)
def test_elements_of_nested_lists_are_charged(name: str) -> None:
    """A list that has the same list twice, on forty levels, has a million million elements."""
    began = time.thread_time()
    answer = ask(chained("[0]", NESTED, 40, f"dyn(x) == 0 || {SHARED[name]}"))
    assert time.thread_time() - began < 2 * CPU_LIMIT_SECONDS
    assert str(answer).startswith("operation "), answer


@pytest.mark.parametrize("name", sorted(SHARED.keys() - {"flattened", "formatted"}))
def test_nested_lists_are_compared(name: str) -> None:
    expected = name != "unequal"
    assert ask(chained("[0]", NESTED, 10, SHARED[name])) is expected


@pytest.mark.parametrize(
    "expression", ["{1: 2}[dyn(x)] == 1", "[?dyn(x)].size() == 1", "{1: ?dyn(x)} == {}", "[dyn(x)].join() == ''"]
)
def test_errors_name_the_type_of_a_list(expression: str) -> None:
    expression = expression.replace("1: ?", "?1: ")
    assert "list" in str(ask(chained("[0]", NESTED, 40, expression)))


def test_errors_are_short() -> None:
    answer = ask(chained(TEXT, "x + x", 12, "{1: 2}[dyn(x)] == 1"))
    assert isinstance(answer, str)
    assert answer.startswith("no such key: aaaa")
    assert len(answer) == 4096


LONG_EQUAL_TEXTS = f"cel.bind(a, {chained(TEXT, 'x + x', 15, 'x')}, cel.bind(b, {chained(TEXT, 'x + x', 15, 'x')}, T))"


@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(60000).map(i, a) == lists.range(60000).map(i, b)",
        "lists.range(9000).map(i, a).all(t, [b].indexOf(t) == 0)",
        "lists.range(600).map(i, i % 2 == 0 ? a : b).sort().size() == 600",
        "lists.range(600).sortBy(i, i % 2 == 0 ? a : b).size() == 600",
    ],
)
def test_long_texts_in_lists_are_charged(expression: str) -> None:
    began = time.thread_time()
    answer = ask(LONG_EQUAL_TEXTS.replace("T", expression))
    assert time.thread_time() - began < 2 * CPU_LIMIT_SECONDS
    assert answer is True or str(answer).startswith("operation "), answer


def test_long_versions_are_charged() -> None:
    version = chained("'.a'", "x + x", 13, "semver('1.2.3-a' + x)")
    loop = "lists.range(9000).all(i, s == s && s.compareTo(s) == 0)"
    began = time.thread_time()
    assert str(ask(f"cel.bind(s, {version}, {loop})")).startswith("operation ")
    assert time.thread_time() - began < 2 * CPU_LIMIT_SECONDS
