import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ('[1, "a"].size() == 2', "1:5: expected type 'int' but found 'string'"),
        ("[1, dyn(2)].size() == 2", "expected type 'int' but found 'dyn'"),
        ('{"a": 1, "b": "c"}.size() == 2', "expected type 'int' but found 'string'"),
        ('{"a": 1, 2: 3}.size() == 2', "expected type 'string' but found 'int'"),
        ('"a".matches("(")', "1:13: invalid matches argument"),
        ('duration("x") == duration("1s")', "1:10: invalid duration argument"),
        ('timestamp("x") == timestamp(0)', "invalid timestamp argument"),
        ('"%d".format(["a"]) == ""', "decimal clause can only be used on integers, was given string"),
        ('"%s".format([GPU.numa]) == "1"', "was given google.protobuf.Any"),
        ('"%s".format([1, 2]) == "1"', "too many arguments supplied to string.format (expected 1, got 2)"),
        ('"%s %s".format([1]) == "1"', "index 1 out of range"),
        ('"%s-%d".format(["a", 1]) == "a-1"', None),
        ('"%s".format([[1, 2]]) == "[1, 2]"', None),
        ("[?optional.of(1), 2].size() == 2", None),
    ],
)
def test_literals_that_cannot_be_meant(expression: str, error: str | None) -> None:
    answer = ask(expression)
    if error is None:
        assert answer is True
    else:
        assert isinstance(answer, str)
        assert error in answer
