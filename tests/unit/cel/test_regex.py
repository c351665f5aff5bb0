from contextlib import suppress

import pytest

from stowplan.cel.cost import CostTracker
from stowplan.cel.regex import COMPILE_WORK, MAX_COMPILE_WORK, check_regex, compile_regex, regex_for, search
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
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        ("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("(((((a{100}){100}){100})", "invalid repeat count: `{100}`"),
        ("(" * 1000 + "a" + ")" * 1000, "expression nests too deeply"),
        (r"\pL{1000}", r"expression too large: `\pL{1000}`"),
        ("\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_is_no_expression(pattern: str, error: str) -> None:
    with pytest.raises(CelError, match="error parsing regexp: ") as caught:
        compile_regex(pattern)
    assert error in str(caught.value)


@pytest.mark.parametrize("pattern", [r"\Q(\C\E", r"[(\\C]", "(" * 999 + "a" + ")" * 999, r"\\C", "(?P<n>a)(?P<n>b)"])
def test_patterns_that_go_accepts(pattern: str) -> None:
    compile_regex(pattern)


def test_large_programs_are_compiled() -> None:
    assert compile_regex(r"^\pL{1,255}$").search("é" * 255) == (0, 255)


def compile_work(pattern: str) -> int:
    tracker = CostTracker()
    with suppress(CelError):
        regex_for(tracker, "", pattern)
    return tracker._work


def test_the_work_of_a_pattern_follows_its_program() -> None:
    hostile, plain = "(((a?){10}){10}){10}$", "[a-z]+-[0-9]{4}"
    assert compile_work(plain) < 50 * COMPILE_WORK
    assert 1000 * COMPILE_WORK < compile_work(hostile) < 10_000 * COMPILE_WORK
    assert MAX_COMPILE_WORK < compile_work(r"\pL{1000}") < 1.01 * MAX_COMPILE_WORK
    assert compile_work("(") == COMPILE_WORK


@pytest.mark.parametrize("pattern", [r"\pL{1000}", r"\pL{1,255}", "a", r"\Q(\C\E\pL{1000}"])
def test_the_syntax_of_a_pattern_is_checked_without_its_program(pattern: str) -> None:
    check_regex(pattern)


@pytest.mark.parametrize("pattern", ["(", r"\pL{1000}(", r"\pL{1000}\C", "(?P<é>a{1000})"])
def test_errors_of_the_syntax_need_no_program(pattern: str) -> None:
    with pytest.raises(CelError, match="error parsing regexp: "):
        check_regex(pattern)
