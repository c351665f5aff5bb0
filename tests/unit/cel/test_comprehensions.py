import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("[1, 2, 3].all(x, x > 0)", True),
        ("[1, 2, 3].all(x, x > 1 && x / 0 > 0)", False),
        ("[1, 2, 3].all(x, x / 0 > 0)", "division by zero"),
        ("[1, 2, 3].exists(x, x / (x - 1) > 0 && x == 2)", True),
        ("[].all(x, false) && ![].exists(x, true)", True),
        ("[1, 2, 3].exists_one(x, x == 3) && ![1, 1].existsOne(i, x, x == 1)", True),
        ("[1, 2, 3].map(x, x * 2) == [2, 4, 6]", True),
        ("[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", True),
        ("[1, 2, 3].filter(x, x > 1) == [2, 3]", True),
        ('{"a": 1, "b": 2}.filter(k, k == "a") == ["a"]', True),
        ('{"a": 1}.all(k, v, k == "a" && v == 1)', True),
        ("[5, 6].exists(i, v, i == 1 && v == 6)", True),
        ("[5, 6].transformList(i, v, i + v) == [5, 7]", True),
        ("[5, 6].transformList(i, v, v > 5, i) == [1]", True),
        ('{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}', True),
        ('{"a": 1, "b": 2}.transformMap(k, v, v > 1, v) == {"b": 2}', True),
        ('{"a": 1}.transformMapEntry(k, v, {v: k}) == {1: "a"}', True),
        ('["a", "b"].transformMapEntry(i, v, {"x": v}) == {}', "insert failed: key x already exists"),
        ('["bb", "a"].sortBy(x, x.size()) == ["a", "bb"]', True),
        ("[dyn(1), dyn('a')].sortBy(x, x).size() == 2", "list elements must have the same type"),
        ("[1, 2].map(x, [3].map(y, x + y)) == [[4], [5]]", True),
        ("[1].all(x, [2].all(x, x == 2) && x == 1)", True),
        ("dyn(1).all(x, true)", "got 'int', expected iterable type"),
        ("GPU.exists(k, k == 'model')", True),
        ("[1, 2].filter(x, dyn(x)) == []", "no such overload"),
    ],
)
def test_macros_over_lists_and_maps(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
