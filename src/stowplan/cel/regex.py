"""Regular expressions of RE2's dialect, matched in time linear in the text.

Python's own engine backtracks: a short expression of a hostile claim could stop the scheduler for good. This one runs
all ways to match side by side, in order of preference, and so finds what RE2 finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from stowplan.cel.regex_program import ASSERT, CHAR, JUMP, MATCH, SPLIT, compile_program

Span = tuple[int, int]


class Regex:
    """A compiled expression."""

    __slots__ = ("_program",)

    def __init__(self, pattern: str) -> None:
        self._program = compile_program(pattern)

    def search(self, text: str, start: int = 0) -> Span | None:
        """The leftmost match at or after a position."""
        program = self._program
        found: Span | None = None
        threads: dict[int, int] = {}
        for at in range(start, len(text) + 1):
            if found is None:
                self._follow(threads, 0, at, text, at)
            if not threads:
                if found is not None:
                    break
                continue
            following: dict[int, int] = {}
            for counter, begun in threads.items():
                instruction = program[counter]
                if instruction[0] == MATCH:
                    found = (begun, at)
                    break
                if at < len(text) and instruction[1](text[at]):
                    self._follow(following, counter + 1, begun, text, at + 1)
            threads = following
        return found

    def spans(self, text: str, count: int = -1) -> Iterator[Span]:
        """All matches that do not overlap, at most `count` of them if that is not negative."""
        at, last_end = 0, -1
        while count != 0 and at <= len(text):
            found = self.search(text, at)
            if found is None:
                return
            start, end = found
            at = end if end > start else end + 1
            # As upstream has it, an empty match right after another match is none.
            if end == start == last_end:
                continue
            last_end = end
            count -= 1
            yield found

    def _follow(self, threads: dict[int, int], counter: int, begun: int, text: str, at: int) -> None:
        """Add a thread, past everything that consumes nothing. Earlier threads are preferred, so they stay."""
        pending, seen = [counter], set(threads)
        program = self._program
        while pending:
            counter = pending.pop()
            if counter in seen:
                continue
            seen.add(counter)
            instruction = program[counter]
            kind = instruction[0]
            if kind in (CHAR, MATCH):
                threads[counter] = begun
            elif kind == JUMP:
                pending.append(instruction[1])
            elif kind == SPLIT:
                pending += (instruction[2], instruction[1])
            elif kind == ASSERT and instruction[1](text, at):
                pending.append(counter + 1)


@lru_cache(256)
def compile_regex(pattern: str) -> Regex:
    """The expression; fails with CelError."""
    return Regex(pattern)


def search(pattern: str, text: str) -> Span | None:
    """Where the pattern is first found."""
    return compile_regex(pattern).search(text)
