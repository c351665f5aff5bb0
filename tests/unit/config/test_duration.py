import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.config.duration import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("15s", 15_000_000_000),
        ("5m0s", 300_000_000_000),
        ("1h1.5m1s300ms20us3ns", 3_691_300_020_003),
        ("+1h", 3_600_000_000_000),
        ("-.5h", -1_800_000_000_000),
        ("5.s", 5_000_000_000),
        ("1\u00b5s", 1_000),
        ("1\u03bcs", 1_000),
        ("0.3ns", 0),
        ("1.0000000019s", 1_000_000_001),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_parse_reads_what_go_reads(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text).nanoseconds == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (" 1s", 'time: invalid duration " 1s"'),
        (".s", 'time: invalid duration ".s"'),
        ("s", 'time: invalid duration "s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1s5", 'time: missing unit in duration "1s5"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_parse_refuses_in_go_words(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared whole
        Duration.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1\u00b5s"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (300_000_000_000, "5m0s"),
        (3_600_000_000_000, "1h0m0s"),
        (-1_800_000_000_000, "-30m0s"),
        (600_000_000_001, "10m0.000000001s"),
    ],
)
def test_text_is_go_text(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_text_reads_back(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == Duration(nanoseconds)


def test_durations_compare_by_length() -> None:
    assert Duration.parse("1m") == Duration.of_seconds(60)
    assert hash(Duration.parse("1m")) == hash(Duration.of_seconds(60))
    assert Duration() < Duration.parse("1ns") <= Duration(1)
    assert Duration(1) != 1
    assert Duration.parse("1500ms").seconds == 1.5
