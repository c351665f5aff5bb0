import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("'%s %s %s'.format(['a', 1, true]) == 'a 1 true'", True),
        ("'%d%%'.format([5]) == '5%'", True),
        ("'%.2f %f'.format([1.0, 2.5]) == '1.00 2.500000'", True),
        ("'%b %b'.format([5, true]) == '101 1' && '%x %X %o'.format([255, 255, 8]) == 'ff FF 10'", True),
        ("'%x'.format(['ab']) == '6162'", True),
        ("'%s'.format([duration('90s')]) == '90s'", True),
        ("'%s %s'.format([null, int]) == 'null int'", True),
        (
            "'%d'.format([dyn('a')]) == ''",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
    ],
)
def test_values_in_texts(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
