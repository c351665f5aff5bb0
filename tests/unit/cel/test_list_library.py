import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("[1, 2, 3].isSorted() && !['b', 'a'].isSorted() && [].isSorted()", True),
        ("[1, 2, 3].sum() == 6 && [1.5, 2.0].sum() == 3.5 && [1u, 2u].sum() == 3u && [].sum() == 0", True),
        ("[duration('1s'), duration('2s')].sum() == duration('3s')", True),
        ("[3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a'", True),
        ("[].max() == 3", "max called on empty list"),
        ("[9223372036854775807, 1].sum() == 0", "integer overflow"),
        ("[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && [1].indexOf(3) == -1", True),
        ("[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b']", True),
        ("[1, 2, 3, 4].slice(1, 3) == [2, 3]", True),
        ("[1].slice(-1, 0) == []", "cannot slice(-1, 0), negative indexes not supported"),
        ("[1].slice(1, 0) == []", "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("[[1], [2, 3]].flatten() == [1, 2, 3]", True),
        ("[[[1]], [[2]]].flatten(2) == [1, 2]", True),
        ("[[1]].flatten(-1) == [1]", "level must be non-negative"),
        ("lists.range(3) == [0, 1, 2] && lists.range(0) == []", True),
        ("[1, 2, 3].reverse() == [3, 2, 1]", True),
        ("[1, 1, 2].distinct() == [1, 2]", True),
        ("[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && ![].first().hasValue()", True),
        ("sets.contains([1, 2], [2]) && !sets.contains([1], [1, 2]) && sets.contains([], [])", True),
        ("sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])", True),
        ("sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [2])", True),
        ("optional.ofNonZeroValue(0).hasValue() || optional.ofNonZeroValue('').hasValue()", False),
        ("optional.ofNonZeroValue('a').value() == 'a'", True),
        ("GPU.model.includes('a100') && ['a', 'b'].includes('b') && !GPU.model.includes('b')", True),
        ("lists.range(49).includes(-1)", "'includes' function cannot be applied to lists longer than 48 values"),
    ],
)
def test_functions_on_lists_sets_and_optionals(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
