"""Work of functions on long texts: charged before it is done."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from tests.unit.cel.asking import ask, chained

from stowplan.api.names import label_key_errors
from stowplan.cel.cost import CPU_LIMIT_SECONDS

MEMORY = 96 << 20

LONG = {
    "durations": ("1s", "duration(x) > duration('1s')"),
    "fractions": (".9h", "duration('-' + x) > duration('1s')"),
    "timestamps": ("11", "timestamp('2020-01-01T00:00:00.' + x + 'Z') > timestamp(0)"),
    "zones": ("a/", "timestamp(0).getHours(x) == 1"),
    "versions": ("a.", "semver('1.2.3-' + x + 'a').isGreaterThan(semver('1.2.3-' + x + 'b'))"),
    "builds": ("1.", "isSemver('1.2.3+' + x + '1', true)"),
    "quantities": ("00", "isQuantity(x + '.1.1')"),
    "exponents": ("11", "isQuantity('1e' + x + '.')"),
    "urls": ("%41", "isURL('https://a/' + x)"),
    "escaped paths": ("%41", "url('https://a/' + x).getEscapedPath() == ''"),
    "queries": ("%41", "url('https://a/?a=' + x).getQuery() == {}"),
    "addresses": ("1:", "isIP(x)"),
    "networks": ("11", "isCIDR('1.1.1.1/' + x)"),
    "clauses": ("%%", "x.format([]) == x"),
    "upper case": ("éé", "x.upperAscii() == x"),
    "lower case": ("éé", "x.lowerAscii() == x"),
    "quoted": ('"\\u00e9', "strings.quote(x) == x"),
    "joined": ("ab", "x.split('a').join(x) == x"),
    "split": ("ab", "x.split('').size() == 1"),
    "replaced": ("ab", "x.replace('', x) == x"),
    "last index": ("aa", "x.lastIndexOf(x.substring(0, x.size() / 3) + 'b' + x.substring(0, x.size() / 3)) == 1"),
    "names": ("a.", "format.dns1123Subdomain().validate(x + '-').hasValue()"),
    "labels": ("a-", "format.qualifiedName().validate(x).hasValue()"),
    "bytes": ("abcd", "format.byte().validate(x + '*').hasValue()"),
}


@pytest.mark.parametrize("doublings", [16, 19])
@pytest.mark.parametrize("name", LONG)
def test_long_texts_end_in_time(name: str, doublings: int) -> None:
    part, expression = LONG[name]
    source = chained(f"'{part}'", "x + x", doublings, expression)
    began = time.thread_time()
    ask(source)
    assert time.thread_time() - began < 1.5 * CPU_LIMIT_SECONDS


@pytest.mark.parametrize("name", LONG)
def test_loops_over_long_texts_end_in_time(name: str) -> None:
    part, expression = LONG[name]
    began = time.thread_time()
    ask(chained(f"'{part}'", "x + x", 13, f"lists.range(9000).exists_one(i, ({expression}) && i < 0 || i < 0)"))
    assert time.thread_time() - began < 2 * CPU_LIMIT_SECONDS


@pytest.mark.parametrize("name", ["versions", "queries", "split", "names"])
def test_long_texts_take_little_memory(name: str) -> None:
    part, expression = LONG[name]
    tracemalloc.start()
    try:
        ask(chained(f"'{part}'", "x + x", 18, expression))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "part", "start", "at"),
    [
        ("ab" * 40, "ab" * 16, None, 48),
        ("ab" * 40, "ab" * 16, 47, 46),
        ("ab" * 40, "ba" * 16, 3, 3),
        ("ab" * 40, "ab" * 16 + "b", None, -1),
        ("é" * 80, "é" * 40, 20, 20),
        ("é" * 80, "é" * 81, None, -1),
    ],
)
def test_last_indexes_of_long_texts(text: str, part: str, start: int | None, at: int) -> None:
    after = "" if start is None else f", {start}"
    assert ask(f"'{text}'.lastIndexOf('{part}'{after}) == {at}") is True


def test_long_labels_are_not_kept() -> None:
    before = label_key_errors.cache_info().currsize
    assert ask(chained("'aa'", "x + x", 13, "format.qualifiedName().validate(x).hasValue()")) is True
    assert label_key_errors.cache_info().currsize == before
