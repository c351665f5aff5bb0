import json
from typing import Any

import pytest

from stowplan.bench.object_pattern import ObjectPattern, Range, overlay


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0, {"cpu": "10m", "zones": ["a"], "name": "app-0"}),
        (1, {"cpu": "15m", "zones": ["a", "b"], "name": "app-1"}),
        (2, {"cpu": "20m", "zones": ["a"], "name": "app-2"}),
        (3, {"cpu": "10m", "zones": ["a", "b"], "name": "app-3"}),
    ],
)
def test_values_are_taken_in_turn(kind: int, expected: dict[str, Any]) -> None:
    pattern = {"cpu": "${cpu}m", "zones": "$zones", "name": "app-$kind"}
    pattern = ObjectPattern(pattern, {"cpu": Range(10, 3, 5), "zones": [["a"], ["a", "b"]]})
    assert pattern.kind(kind) == expected


def test_objects_of_a_kind_differ_in_number_suffix_and_node() -> None:
    pattern = ObjectPattern({"a": "p-$number", "b": "x$suffix", "c": "$node", "d": ["$v"], "e": 1}, {"v": [7]})
    assert json.loads(pattern.render(0, 300, "n1")) == {"a": "p-300", "b": "x00012c", "c": "n1", "d": [7], "e": 1}
    assert json.loads(pattern.render(0, 301)) == {"a": "p-301", "b": "x00012d", "c": "", "d": [7], "e": 1}


def test_a_blank_that_nobody_fills_is_an_error() -> None:
    with pytest.raises(KeyError, match="unknown"):
        ObjectPattern({"a": "$unknown"}, {}).render(0, 0)


@pytest.mark.parametrize(
    ("base", "over", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"x": 1}}, {"a": None}, {"a": None}),
        ({"a": 1}, {"a": {"x": 1}}, {"a": {"x": 1}}),
    ],
)
def test_overlay_merges_objects_and_replaces_all_else(base: Any, over: Any, expected: Any) -> None:
    before = json.dumps(base)
    assert overlay(base, over) == expected
    assert json.dumps(base) == before
