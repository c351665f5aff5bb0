import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("[1, 2, 3][1] == 2", True),
        ("[1, 2, 3][dyn(1.0)] == 2", True),
        ("[1, 2, 3][dyn(1u)] == 2", True),
        ("[1, 2, 3][3] == 2", "index out of bounds: 3"),
        ("[1, 2, 3][-1] == 2", "index out of bounds: -1"),
        ('[1, 2, 3][dyn("a")] == 2', "unsupported index type 'string' in list"),
        ('{"a": 1}["b"] == 1', "no such key: b"),
        ('{"a": 1}.a == 1', True),
        ('{1: "a"}[dyn(1u)] == "a"', True),
        ('{true: "a"}[dyn("x")] == "a"', "no such key: x"),
        ("[1][?4].hasValue()", False),
        ("[1][?0].hasValue()", True),
        ("optional.of([1])[0].value() == 1", True),
        ('optional.of({"a": {"b": 1}}).a.b.value() == 1', True),
        ("has(optional.of({'a': 1}).a)", True),
        ("has(dyn(1).a)", False),
        ("has(dyn([]).a)", "unsupported index type 'string' in list"),
        ("GPU.model[0] == 'a'", "no such key: 0"),
    ],
)
def test_parts_of_values(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
