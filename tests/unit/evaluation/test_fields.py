from typing import Any

import pytest

from stowplan.errors import InputError
from stowplan.evaluation.fields import fields_of, id_of


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (b'{"id": 1, "pod": {}}', ["id", "pod"]),
        (b'  { "pod" : {"a": "}"} , "nodes":[] }  \n', ["pod", "nodes"]),
        (b'{"pod": null, "nodes": []}', ["nodes"]),
        (b"{}", []),
        ('{"pod": "ö\\u00fc"}'.encode(), ["pod"]),
    ],
)
def test_fields_are_not_decoded_yet(line: bytes, names: list[str]) -> None:
    assert list(fields_of(line)) == names


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "truncated"),
        (b'{"pod": {}', "one case per line"),
        (b"[]", "object"),
        (b'{"pod": {}} {"pod": {}}', "trailing"),
        (b'{"pod": {}, "pod": {}}', "more than once"),
        (b'{"a": 1, "pod": {}, "a": 1}', "more than once"),
        (b'{"pod": "\xff"}', "not UTF-8 text"),
    ],
)
def test_broken_lines(line: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        fields_of(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"id": "a", "pod": {}}', "a"),
        (b'{"id": 5}', 5),
        (b'{"pod": {}}', None),
        (b'{"id": {"a": 1}}', None),
        (b'{"id": "a\\"b", "pod": {', 'a"b'),
        (b'{"pod": {}, "id": 17, "nodes": [', 17),
        (b"nothing at all", None),
        (b'{"id": "\xff"', None),
    ],
)
def test_the_id_is_found_if_it_can_be(line: bytes, expected: Any) -> None:
    assert id_of(line) == expected
