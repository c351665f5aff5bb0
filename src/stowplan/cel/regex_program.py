"""Regular expressions as programs: read by recursive descent, written as instructions while reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan.cel.regex_classes import (
    Test,
    any_of,
    class_of,
    negated,
    one_char,
    unicode_class,
)
from stowplan.cel.values import CelError

CHAR, MATCH, JUMP, SPLIT, ASSERT = range(5)

Instruction = tuple[Any, ...]
Fragment = list[Instruction]
"""Instructions whose jumps are relative to their own place."""

_MAX_SIZE = 20_000
_MAX_REPEAT = 1000
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def compile_program(pattern: str) -> list[Instruction]:
    reader = _Reader(pattern)
    fragment = reader.alternatives()
    if reader.at < len(pattern):
        raise reader.error("unexpected )", pattern)
    program: list[Instruction] = []
    for place, instruction in enumerate((*fragment, (MATCH,))):
        targets = instruction[1:] if instruction[0] in (JUMP, SPLIT) else ()
        program.append((instruction[0], *(place + target for target in targets)) if targets else instruction)
    return program


def _is_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] == "_")


_ASSERTIONS: dict[str, Callable[[str, int], bool]] = {
    "A": lambda text, at: at == 0,
    "z": lambda text, at: at == len(text),
    "b": lambda text, at: _is_word(text, at - 1) != _is_word(text, at),
    "B": lambda text, at: _is_word(text, at - 1) == _is_word(text, at),
    "^": lambda text, at: at == 0 or text[at - 1] == "\n",
    "$": lambda text, at: at == len(text) or text[at] == "\n",
}


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.depth = 0

    def error(self, what: str, where: str) -> CelError:
        return CelError(f"error parsing regexp: {what}: `{where}`")

    def peek(self) -> str:
        return self.pattern[self.at] if self.at < len(self.pattern) else ""

    def accept(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def alternatives(self) -> Fragment:
        self.depth += 1
        if self.depth > 200:
            raise self.error("expression nests too deeply", self.pattern)
        outer = self.flags
        branches = [self.sequence()]
        while self.accept("|"):
            branches.append(self.sequence())
        self.flags = outer
        self.depth -= 1
        out = branches[-1]
        for branch in reversed(branches[:-1]):
            out = [(SPLIT, 1, len(branch) + 2), *branch, (JUMP, len(out) + 1), *out]
        return out

    def sequence(self) -> Fragment:
        out: Fragment = []
        while self.peek() not in ("", "|", ")"):
            if self.accept(r"\Q"):
                end = self.pattern.find(r"\E", self.at)
                literal = self.pattern[self.at : end if end >= 0 else None]
                self.at = len(self.pattern) if end < 0 else end + 2
                out += [self.literal(c) for c in literal]
                continue
            out += self.repeated(self.atom())
            if len(out) > _MAX_SIZE:
                raise self.error("expression too large", self.pattern)
        return out

    def literal(self, char: str) -> Instruction:
        return (CHAR, one_char(char, "i" in self.flags))

    def repeated(self, item: Fragment) -> Fragment:
        start, repeats = self.at, 0
        while (bounds := self.bounds()) is not None:
            repeats += 1
            if repeats > 1:
                raise self.error("invalid nested repetition operator", self.pattern[start : self.at])
            low, high = bounds
            lazy = self.accept("?") != ("U" in self.flags)
            item = _repeat(item, low, high, lazy)
            if len(item) > _MAX_SIZE:
                raise self.error("expression too large", self.pattern)
        return item

    def bounds(self) -> tuple[int, int | None] | None:
        """(least, most) of a repetition that follows; None where there is none."""
        for symbol, found in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(symbol):
                return found
        if self.peek() != "{":
            return None
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : max(end, 0)].partition(",")
        if end < 0 or not low.isdigit() or not (high.isdigit() or not high):
            return None
        whole = self.pattern[self.at : end + 1]
        least, most = int(low), int(high) if high else None if comma else int(low)
        if least > _MAX_REPEAT or (most is not None and (most > _MAX_REPEAT or most < least)):
            raise self.error("invalid repeat count", whole)
        self.at = end + 1
        return least, most

    def atom(self) -> Fragment:
        char = self.pattern[self.at]
        self.at += 1
        match char:
            case "(":
                return self.group()
            case "[":
                return [(CHAR, self.char_class())]
            case ".":
                newline_too = "s" in self.flags
                return [(CHAR, lambda c: newline_too or c != "\n")]
            case "^" | "$":
                plain = {"^": "A", "$": "z"}[char]
                return [(ASSERT, _ASSERTIONS[char if "m" in self.flags else plain])]
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                raise self.error("missing argument to repetition operator", char)
        return [self.literal(char)]

    def group(self) -> Fragment:
        outer = self.flags
        if self.accept("?"):
            if self.accept("P<") or (self.peek() == "<" and self.pattern[self.at + 1 : self.at + 2] not in "=!"):
                end = self.pattern.find(">", self.at)
                name = self.pattern[self.at : end].lstrip("<")
                if end < 0 or not name.isidentifier():
                    raise self.error("invalid named capture", self.pattern)
                self.at = end + 1
            elif not self.group_flags():
                return []
        inner = self.alternatives()
        self.flags = outer
        if not self.accept(")"):
            raise self.error("missing closing )", self.pattern)
        return inner

    def group_flags(self) -> bool:
        """Read `(?i:` or `(?i)`; False for the latter, which holds for the rest of what is around it."""
        on, flags = True, set(self.flags)
        start = self.at
        while (char := self.peek()) in tuple("imsU-"):
            self.at += 1
            if char == "-":
                on = False
            else:
                (flags.add if on else flags.discard)(char)
        if char not in (":", ")"):
            raise self.error("invalid or unsupported Perl syntax", "(?" + self.pattern[start : self.at + 1])
        self.at += 1
        self.flags = frozenset(flags)
        return char != ")"

    def escape(self) -> Fragment:
        char = self.peek()
        if not char:
            raise self.error("trailing backslash at end of expression", "")
        if char in "AzbB":
            self.at += 1
            return [(ASSERT, _ASSERTIONS[char])]
        known = self.escaped_class()
        return [(CHAR, known)] if known is not None else [self.literal(self.escaped_char())]

    def escaped_class(self) -> Test | None:
        char = self.peek()
        found = class_of(char)
        if found is not None:
            self.at += 1
            return found
        if char not in ("p", "P"):
            return None
        match = self.pattern[self.at + 1 : self.at + 2]
        end = self.pattern.find("}", self.at) if match == "{" else self.at + 1
        name = self.pattern[self.at + 2 : end] if match == "{" else match
        found = unicode_class(name)
        if found is None or end < 0:
            raise self.error("invalid character class range", "\\" + self.pattern[self.at : end + 1])
        self.at = end + 1
        return negated(found) if char == "P" else found

    def escaped_char(self) -> str:
        char = self.peek()
        self.at += 1
        if char == "x":
            braced = self.accept("{")
            end = self.pattern.find("}", self.at) if braced else self.at + 2
            digits = self.pattern[self.at : end]
            try:
                code = chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise self.error("invalid escape sequence", f"\\x{digits}") from None
            self.at = end + braced
            return code
        if char in "01234567" and (char == "0" or self.peek() in tuple("01234567")):
            digits = char
            while len(digits) < 3 and self.peek() in tuple("01234567"):
                digits += self.peek()
                self.at += 1
            return chr(int(digits, 8))
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isascii() and char.isalnum():
            raise self.error("invalid escape sequence", f"\\{char}")
        return char

    def char_class(self) -> Test:
        start = self.at - 1
        negative = self.accept("^")
        tests: list[Test] = []
        first = True
        while first or self.peek() != "]":
            if not self.peek():
                raise self.error("missing closing ]", self.pattern[start:])
            first = False
            tests.append(self.class_item(start))
        self.at += 1
        found = any_of(tests, "i" in self.flags)
        return negated(found) if negative else found

    def class_item(self, start: int) -> Test:
        if self.accept("[:"):
            end = self.pattern.find(":]", self.at)
            name = self.pattern[self.at : end]
            found = class_of(f":{name.removeprefix('^')}") if end >= 0 else None
            if found is None:
                raise self.error("invalid character class range", f"[:{name}:]")
            self.at = end + 2
            return negated(found) if name.startswith("^") else found
        if self.peek() == "\\":
            self.at += 1
            known = self.escaped_class()
            if known is not None:
                return known
            low = self.escaped_char()
        else:
            low = self.peek()
            self.at += 1
        high = low
        if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self.peek()
            self.at += 1
            if high == "\\":
                high = self.escaped_char()
        if high < low:
            raise self.error("invalid character class range", f"{low}-{high}")
        return lambda c: low <= c <= high


def _repeat(item: Fragment, low: int, high: int | None, lazy: bool) -> Fragment:
    def split(enter: int, leave: int) -> Instruction:
        return (SPLIT, leave, enter) if lazy else (SPLIT, enter, leave)

    out = item * low
    if high is None:
        if low:
            return [*out, split(-len(item), 1)]
        return [split(1, len(item) + 2), *item, (JUMP, -len(item) - 1)]
    optional: Fragment = []
    for _ in range(high - low):
        optional = [split(1, len(item) + len(optional) + 1), *item, *optional]
        if len(optional) > _MAX_SIZE:
            break
    return out + optional
