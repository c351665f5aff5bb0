from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.cluster import protobuf

FIELDS = st.lists(st.tuples(st.integers(1, 31), st.integers(0, 2**63 - 1) | st.binary(max_size=5000)))


@given(FIELDS)
def test_what_is_written_is_read(fields: list[tuple[int, int | bytes]]) -> None:
    written = b"".join(
        protobuf.number_field(number, value) if isinstance(value, int) else protobuf.field(number, value)
        for number, value in fields
    )
    assert list(protobuf.fields(written)) == fields
    body = protobuf.sealed(protobuf.envelope(b"v1", b"Pod"), written)
    assert body.startswith(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12")
    assert protobuf.opened(body) == written


def test_numbers_of_fixed_size_are_passed_over() -> None:
    assert list(protobuf.fields(b"\x0d1234\x1187654321\x18\x05")) == [(1, b"1234"), (2, b"87654321"), (3, 5)]


@pytest.mark.parametrize(
    "message", [b"\x0a", b"\x0a\x05abcd", b"\x08\xff", b"\x08" + b"\xff" * 11, b"\x0b", b"\x0d123"]
)
def test_what_is_no_message_is_an_error(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut short|wire type"):
        list(protobuf.fields(message))


@pytest.mark.parametrize("body", [b"", b"{}", b"k8s\0", b"k8s\0\x12\x05a", b"k8s\0\x10\x05"])
def test_what_holds_no_message_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut short|no message"):
        protobuf.opened(body)


@given(st.binary())
def test_any_bytes_are_fields_or_a_value_error(body: bytes) -> None:
    try:
        found = list(protobuf.fields(body))
    except ValueError:
        return
    assert bool(found) == bool(body)
