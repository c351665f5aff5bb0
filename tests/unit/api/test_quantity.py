from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api import quantity
from stowplan.errors import StowplanError

MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("1", 10**9),
        (1, 10**9),
        (0.1, 10**8),
        (1e3, 10**12),
        ("1n", 1),
        ("1u", 10**3),
        ("1m", 10**6),
        ("1k", 10**12),
        ("1M", 10**15),
        ("1G", 10**18),
        ("1T", 10**21),
        ("1P", 10**24),
        ("1E", 10**27),
        ("1Ki", 2**10 * 10**9),
        ("1Mi", 2**20 * 10**9),
        ("1Gi", 2**30 * 10**9),
        ("1Ti", 2**40 * 10**9),
        ("1Pi", 2**50 * 10**9),
        ("1Ei", 2**60 * 10**9),
        ("1e3", 10**12),
        ("1E3", 10**12),
        ("12E", 12 * 10**27),
        ("1e+2", 10**11),
        ("5e-3", 5 * 10**6),
        ("1.5Ki", 1536 * 10**9),
        ("+2.50", 25 * 10**8),
        ("-1.5", -15 * 10**8),
        (".5", 5 * 10**8),
        ("5.", 5 * 10**9),
        ("007", 7 * 10**9),
        (" 3 ", 3 * 10**9),
        ("m", 0),
        ("+", 0),
    ],
)
def test_parse_reads_every_form(text: str | int | float, nanos: int) -> None:
    assert quantity.parse(text) == nanos


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0.1n", 1),
        ("1e-12", 1),
        ("-1e-12", -1),
        ("1.0000000001", 10**9 + 1),
        ("0.0000000001Ki", 103),
        ("1e-9999999", 1),
    ],
)
def test_parse_rounds_what_is_finer_than_a_billionth_away_from_zero(text: str, nanos: int) -> None:
    assert quantity.parse(text) == nanos


def test_binary_quantities_are_capped_and_decimal_ones_are_not() -> None:
    assert quantity.parse("8Ei") == quantity.parse("9Ei") == MAX * 10**9
    assert quantity.parse("10E") < quantity.parse("11E")


@pytest.mark.parametrize(
    ("text", "units", "millis"),
    [
        ("1", 1, 1000),
        ("100m", 1, 100),
        ("1500m", 2, 1500),
        ("0.0001", 1, 1),
        ("1500u", 1, 2),
        ("1Gi", 2**30, 2**30 * 1000),
        ("0", 0, 0),
        ("-1500u", -1, -2),
        ("9223372036854775807", MAX, MAX),
        ("100E", MAX, MAX),
        ("-100E", -MAX, -MAX),
        ("1e999999999999999999", MAX, MAX),
        (1.5, 2, 1500),
    ],
)
def test_value_and_milli_value_round_up_and_stay_within_int64(text: str | int | float, units: int, millis: int) -> None:
    assert quantity.value(text) == units
    assert quantity.milli_value(text) == millis


@pytest.mark.parametrize(
    ("resource", "amounts", "rounded"),
    [("cpu", ("500u", "500u"), 1), ("memory", ("500m", "500m"), 1), ("nvidia.com/gpu", ("1", "1"), 2)],
)
def test_round_up_rounds_a_sum_once(resource: str, amounts: tuple[str, str], rounded: int) -> None:
    assert quantity.round_up(resource, sum(map(quantity.parse, amounts))) == rounded


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "regular expression"),
        ("one", "regular expression"),
        ("1 Gi", "regular expression"),
        ("1_000", "regular expression"),
        ("1.2.3", "regular expression"),
        ("1e3m", "regular expression"),
        ("٣", "regular expression"),
        ("9" * 5000, "regular expression"),
        ("1KB", "regular expression"),
        ("1K", "suffix"),
        ("1e", "suffix"),
        ("1Kii", "suffix"),
        ("1mi", "suffix"),
        ("1ee3", "suffix"),
        ("1m3", "suffix"),
        ("--1", "suffix"),
    ],
)
def test_malformed_quantities_are_named_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(quantity.QuantityError, match=problem) as caught:
        quantity.parse(text)
    assert isinstance(caught.value, StowplanError)
    assert f'"{text[:80]}' in str(caught.value)
    assert "\n" not in str(caught.value)


decimals = st.decimals(min_value=-(10**15), max_value=10**15, places=9, allow_nan=False, allow_infinity=False)


@given(decimals)
def test_parse_is_exact_up_to_billionths(number: object) -> None:
    assert quantity.parse(f"{number:f}") == Fraction(str(number)) * 10**9


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["n", "u", "m", "", "k", "M", "Ki", "Mi", "Gi"]))
def test_value_is_the_least_integer_not_below(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    assert 0 <= quantity.value(text) * 10**9 - quantity.parse(text) < 10**9
    assert 0 <= quantity.milli_value(text) * 10**6 - quantity.parse(text) < 10**6


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("1500m", "1500m"),
        ("2000m", "2"),
        ("1Gi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1000", "1k"),
        ("512", "512"),
        ("1n", "1n"),
        ("-2", "-2"),
    ],
)
def test_amounts_are_written_as_kubernetes_does(text: str, canonical: str) -> None:
    assert quantity.canonical(quantity.parse(text), binary=text.endswith("i")) == canonical
