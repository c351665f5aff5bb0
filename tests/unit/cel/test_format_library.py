import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.dns1123Label().validate('A').hasValue()", True),
        ("format.dns1123LabelPrefix().validate('a-').hasValue()", False),
        ("format.dns1123Subdomain().validate('a.b').hasValue()", False),
        ("format.dns1035Label().validate('1a').hasValue()", True),
        ("format.qualifiedName().validate('a.b/c').hasValue()", False),
        ("format.labelValue().validate('a b').hasValue()", True),
        ("format.uri().validate('https://a').hasValue()", False),
        ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", False),
        ("format.uuid().validate('x').value() == ['does not match the UUID format']", True),
        ("format.byte().validate('aGVsbG8=').hasValue()", False),
        ("format.byte().validate('!').value() == ['invalid base64']", True),
        ("format.date().validate('2021-01-01').hasValue()", False),
        ("format.date().validate('2021-13-01').value() == ['invalid date']", True),
        ("format.datetime().validate('2021-01-01T00:00:00Z').hasValue()", False),
        ("format.named('uuid').hasValue() && !format.named('nobody').hasValue()", True),
    ],
)
def test_named_formats(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
