"""Regular expressions: RE2 in C++, with the limits and the error texts of Go's regexp package.

RE2 and Go's package share their syntax. Three patterns that RE2 accepts are refused here as Go refuses them: `\\C`,
group names that are not ASCII, and 1000 or more nested groups. RE2 compiles classes to bytes, so `\\pL{1000}`, a
thousand instructions in Go, needs a million; such patterns are refused as too large.

Upstream: regexp/syntax/parse.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from stowplan.cel.cost import CostTracker
from stowplan.cel.values import CelError

if TYPE_CHECKING:
    import re2

Span = tuple[int, int]

COMPILE_WORK = 50
"""Work of compiling one instruction, in units of matching one instruction against one byte (some 10 ns)."""
MAX_COMPILE_WORK = 15_000_000
"""Work of a pattern that is refused as too large."""
PARSE_WORK, UNICODE_PARSE_WORK = 50, 200
"""Work of parsing a character of a pattern; a range of characters that are not ASCII has more cases."""
REPEAT_WORK, CLASS_WORK = 5, 10_000
"""Work of unrolling a repetition once, and of a class such as \\pL, which has hundreds of ranges."""

_SYNTAX_BYTES, _SMALL_BYTES, _LARGE_BYTES = 1 << 10, 1 << 20, 8 << 20
"""Memory of a program and the states that matching adds to it. Most patterns fit the small limit. The first limit is
for patterns of which only the syntax is checked: RE2 gives up after the first instructions."""
_SMALL_PROGRAMS, _LARGE_PROGRAMS = 64, 8
"""Programs that are kept: at most 128 MiB together."""
_MAX_PAID_PROGRAMS, _MAX_PAID_WORK = 32, 10_000 * COMPILE_WORK
"""Programs that an evaluation keeps, all of the small limit: 32 MiB."""
_MAX_KEPT_CHARACTERS = 10_240
"""Characters of a pattern that is kept. No literal is longer; patterns made by an evaluation may be."""
_MAX_NESTING = 1000

_GO_TEXTS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "pattern too large - compile failed": "expression too large",
}
"""RE2's words → Go's, where they differ."""

_TOKEN = re.compile(
    r"\\Q.*?(?:\\E|$)|\\(?P<escape>.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|(?P<named>\(\?P?<(?P<name>[^>]*)>)"
    r"|(?P<open>\()|(?P<close>\))|.",
    re.DOTALL,
)
_REPEATS = re.compile(r"[{,]([0-9]{1,4})(?=[,}])")


class Regex:
    """A compiled expression. `size` is the number of instructions."""

    __slots__ = ("_program", "size")

    def __init__(self, program: re2.Regexp) -> None:
        self._program = program
        self.size = int(program.programsize)

    def match_work(self, text: str, start: int = 0) -> int:
        """The work of a match against a text from a position on. RE2 matches bytes, up to four for a character."""
        characters = len(text) - start + 1
        return self.size * (characters if text.isascii() else 4 * characters)

    def search(self, text: str) -> Span | None:
        """The leftmost match."""
        found = self._program.search(text)
        return None if found is None else found.span()

    def spans(self, text: str) -> Iterator[Span]:
        """All matches that do not overlap. As in Go, an empty match right after another match is left out."""
        last_end = -1
        for found in self._program.finditer(text):
            start, end = found.span()
            if start == end == last_end:
                continue
            last_end = end
            yield start, end


def check_regex(pattern: str) -> None:
    """Raise CelError with Go's text if a pattern cannot be parsed. Does not compile it, which may take far longer."""
    found = _compile(pattern, _SYNTAX_BYTES)
    if isinstance(found, CelError) and not isinstance(found, _TooLargeError):
        raise found


def compile_regex(pattern: str) -> Regex:
    """Raises CelError with Go's text."""
    return _usable(_find(pattern))


def search(pattern: str, text: str) -> Span | None:
    """The leftmost match of a pattern."""
    return compile_regex(pattern).search(text)


def regex_for(tracker: CostTracker, text: str, pattern: str) -> Regex:
    """The expression, with one match against a text charged. Raises CelError.

    An evaluation keeps a few programs, and pays once for each, also if it was compiled before: what an expression may
    do does not depend on what is cached.
    """
    found = tracker.regexes.get(pattern)
    if found is None:
        tracker.work(_parse_work(pattern))
        found = _find(pattern)
        work = _compile_work(found)
        tracker.work(work)
        if work <= _MAX_PAID_WORK:
            if len(tracker.regexes) >= _MAX_PAID_PROGRAMS:
                tracker.regexes.clear()
            tracker.regexes[pattern] = found
    regex = _usable(found)
    tracker.work(regex.match_work(text))
    return regex


def _usable(found: Regex | CelError) -> Regex:
    if isinstance(found, CelError):
        raise CelError(*found.args)
    return found


def _parse_work(pattern: str) -> int:
    characters = len(pattern) * (PARSE_WORK if pattern.isascii() else UNICODE_PARSE_WORK)
    classes = pattern.count("\\p") + pattern.count("\\P")
    return characters + CLASS_WORK * classes + REPEAT_WORK * sum(map(int, _REPEATS.findall(pattern)))


def _compile_work(found: Regex | CelError) -> int:
    if isinstance(found, Regex):
        return found.size * COMPILE_WORK
    return MAX_COMPILE_WORK if isinstance(found, _TooLargeError) else 0


def _find(pattern: str) -> Regex | CelError:
    kept = len(pattern) <= _MAX_KEPT_CHARACTERS
    found = _compile_small(pattern) if kept else _compile(pattern, _SMALL_BYTES)
    if isinstance(found, _TooLargeError):
        found = _compile_large(pattern) if kept else _compile(pattern, _LARGE_BYTES)
    return found


class _TooLargeError(CelError):
    """A pattern whose program does not fit the memory."""


@lru_cache(_SMALL_PROGRAMS)
def _compile_small(pattern: str) -> Regex | CelError:
    return _compile(pattern, _SMALL_BYTES)


@lru_cache(_LARGE_PROGRAMS)
def _compile_large(pattern: str) -> Regex | CelError:
    return _compile(pattern, _LARGE_BYTES)


def _compile(pattern: str, max_bytes: int) -> Regex | CelError:
    """Errors are returned, so that they are cached as well."""
    # Imported here: few clusters have patterns in their selectors, and loading the library takes 5 ms.
    import re2

    options = re2.Options()
    options.max_mem = max_bytes
    options.log_errors = False
    options.never_capture = True
    try:
        program = re2.compile(pattern, options)
    except re2.error as error:
        failure = _go_error(pattern, error)
        # RE2 finds errors of the syntax first: a pattern that is too large has none.
        return (_refused_by_go(pattern) if isinstance(failure, _TooLargeError) else None) or failure
    finally:
        # The library's own cache keeps 128 programs of any size.
        re2.purge()
    return _refused_by_go(pattern) or Regex(program)


def _go_error(pattern: str, error: Exception) -> CelError:
    raw = error.args[0] if error.args else b""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    what, _, where = text.partition(": ")
    if what.startswith("pattern too large"):
        return _TooLargeError(_message(_GO_TEXTS[what], pattern))
    if where.startswith("(?<"):
        # Go takes every (?< for the beginning of a name.
        name, end, _ = pattern[pattern.index("(?<") :].partition(">")
        return CelError(_message("invalid named capture", name + end))
    return CelError(_message(_GO_TEXTS.get(what, what), where))


def _refused_by_go(pattern: str) -> CelError | None:
    """The error of a pattern that RE2 accepts and Go does not."""
    depth = 0
    for token in _TOKEN.finditer(pattern):
        if token["escape"] == "C":
            return CelError(_message("invalid escape sequence", r"\C"))
        if token["name"] is not None and not token["name"].isascii():
            return CelError(_message("invalid named capture", token["named"]))
        depth += (token["open"] is not None or token["named"] is not None) - (token["close"] is not None)
        if depth >= _MAX_NESTING:
            return CelError(_message("expression nests too deeply", pattern))
    return None


def _message(what: str, where: str) -> str:
    return f"error parsing regexp: {what}: `{where}`"
