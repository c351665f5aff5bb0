import time

import pytest

from stowplan.cel.regex import compile_regex, search
from stowplan.cel.values import CelError


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [
        ("b+", "abbc", (1, 3)),
        ("b+?", "abbc", (1, 2)),
        ("a|ab", "ab", (0, 1)),
        ("ab|a", "ab", (0, 2)),
        ("(a|ab)(c|bcd)", "abcd", (0, 4)),
        ("^b", "ab", None),
        ("(?m)^b", "a\nb", (2, 3)),
        ("a$", "ba", (1, 2)),
        ("x*", "aaa", (0, 0)),
        ("a{2,3}", "aaaa", (0, 3)),
        ("a{2}", "aaa", (0, 2)),
        ("a{2,}", "aaaa", (0, 4)),
        ("a{,2}", "a{,2}", (0, 5)),
        ("[^a-c]", "abcd", (3, 4)),
        ("[]a]+", "]a", (0, 2)),
        (r"[\d\-]+", "a1-2", (1, 4)),
        ("[[:alpha:]]+", "1ab2", (1, 3)),
        (r"\w+\s\W", "ab !", (0, 4)),
        (r"\bb", "ab b", (3, 4)),
        ("(?i)AbC", "xabc", (1, 4)),
        ("(?i:a)b", "AB", None),
        ("(?i:a)b", "Ab", (0, 2)),
        ("(?P<name>a)(?:b)(?<more>c)", "abc", (0, 3)),
        ("a.c", "a\nc", None),
        ("(?s)a.c", "a\nc", (0, 3)),
        (r"\x41\x{42}\103", "ABC", (0, 3)),
        (r"\Qa.b\E.", "a.bc", (0, 4)),
        (r"\pL+\p{N}", "ab1", (0, 3)),
        ("(a*)*b", "aaab", (0, 4)),
        ("(|a)+", "aaa", (0, 0)),
        ("", "a", (0, 0)),
        ("é", "aé", (1, 2)),
    ],
)
def test_leftmost_matches(pattern: str, text: str, span: tuple[int, int] | None) -> None:
    assert search(pattern, text) == span


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("[0-9]+", "1 22 3", ["1", "22", "3"]),
        ("a*", "baac", ["", "aa", ""]),
        ("", "ab", ["", "", ""]),
    ],
)
def test_all_matches(pattern: str, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in compile_regex(pattern).spans(text)] == found


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)", "invalid or unsupported Perl syntax: `(?<`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("(((((a{100}){100}){100})", "expression too large"),
        ("\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_is_no_expression(pattern: str, error: str) -> None:
    with pytest.raises(CelError, match="error parsing regexp: ") as caught:
        compile_regex(pattern)
    assert error in str(caught.value)


def test_hostile_expressions_take_no_longer() -> None:
    begun = time.perf_counter()
    assert search("(a*)*(a*)*(a|aa)+b", "a" * 200) is None
    assert time.perf_counter() - begun < 60
