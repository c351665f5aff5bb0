from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.config.yaml_text import dump, parse, parse_all


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("1:30", "1:30"),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("017", 15),
        ("0x1f", 31),
        ("-3", -3),
        ("yes", True),
        ("Off", False),
        ("y", "y"),
        ("~", None),
        ("", None),
        ("5s", "5s"),
        ("'1'", "1"),
    ],
)
def test_plain_scalars_are_read_as_go_does(scalar: str, value: object) -> None:
    assert parse(f"a: {scalar}") == {"a": value}


def test_keys_become_text() -> None:
    assert parse("1: a\ntrue: b\n") == {"1": "a", "true": "b"}


def test_merged_keys_may_be_given_again() -> None:
    text = "base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  b: 3\n"
    assert parse(text) == {"base": {"a": 1, "b": 2}, "own": {"a": 1, "b": 3}}


@pytest.mark.parametrize("text", ["a: &x [*x]", "? [a]\n: b", "a: !!python/object:os.system x"])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="malformed YAML: line 1, column"):
        parse(text)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=10,
)
tricky = st.sampled_from(["1e3", "2024-01-01", "yes", "0x1f", "1:30", "", "null", "<<", "-.5", "1_000"])


@given(st.dictionaries(st.one_of(st.text(), tricky), st.one_of(json_values, tricky), min_size=1, max_size=4))
def test_what_is_dumped_reads_back(value: dict[str, Any]) -> None:
    assert parse(dump(value)) == value


def test_several_documents() -> None:
    assert parse_all("a: 1\n---\n---\nb: 2\n") == [{"a": 1}, None, {"b": 2}]
    assert parse_all("") == []


def test_aliases_may_not_blow_a_document_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(3)]
    assert len(parse("\n".join(lines))["a3"]) == 10
    lines += [f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(3, 9)]
    with pytest.raises(ValueError, match="too large by its aliases"):
        parse("\n".join(lines))
