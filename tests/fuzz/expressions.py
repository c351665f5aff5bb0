"""Random device selectors: values, texts and patterns that are far larger than the expression that makes them."""

from __future__ import annotations

import random
from collections.abc import Callable

PLAIN = (
    "true",
    "device.driver == 'gpu.example.com'",
    "device.attributes['gpu.example.com'].model == 'a'",
    "device.capacity['gpu.example.com'].memory.compareTo(quantity('1Gi')) > 0",
    "'a'.matches('(a?){10}')",
    "'%s'.format(['a']) == 'a'",
    "[1, 2].exists(x, x > 1) || 1 / 0 == 0",
    "semver('1.2.3').major() == 1",
)
MAX_LEVELS = 24
VALUES = ("[0]", "['a', 'b']", "[]", "[device.driver]", "{'a': 1}", "[optional.of(1)]", "[1.5, 0.0 / 0.0]", "1")
NESTED = ("[x, x]", "[[x], [x]]", "{'a': x, 'b': x}", "[x]", "{0: [x, x]}", "optional.of([x, x])", "x")
LISTS = ("x + x", "[x, x].flatten()", "x.map(i, i)", "x.filter(i, true)", "x.reverse()", "x.slice(0, 1)", "x + [1]")
ABOUT_VALUES = (
    "x == x",
    "x != y",
    "x in [y]",
    "[x].indexOf(y) == 0",
    "[x, y].lastIndexOf(x) == 1",
    "[x, x, y].distinct().size() == 1",
    "sets.contains([x], [y])",
    "sets.equivalent([x], [x])",
    "sets.intersects([y], [x])",
    "'%s %s'.format([x, y]) == ''",
    "dyn(x).flatten(20).size() > 0",
    "dyn(x) == device",
    "{1: 2}[dyn(x)] == 2",
    "[dyn(x)].join('') == ''",
    "[x].sort() == [x]",
    "[x, y].sortBy(i, i).size() == 2",
    "type(x) == type(y)",
)
PARTS = ("a", "ab", "1", "1s", ".9h", "a.", "%41", "é", "-", "1:", " ", "\\\\", '"', "%s", "0")
TEXTS = ("x + x", "x + 'a'", "x.replace('a', x)", "x.upperAscii()", "x.split('a').join('bb')", "[x, x].join(x)", "x")
ABOUT_TEXTS = (
    "duration('-' + x) > duration('1s')",
    "timestamp('2020-01-01T00:00:00.' + x + 'Z') > timestamp(0)",
    "timestamp(0).getHours(x) == 1",
    "semver('1.2.3-' + x).isGreaterThan(semver('1.2.3-a' + x))",
    "isSemver('1.2.3+' + x, true)",
    "isQuantity(x + '.1.1')",
    "isURL('https://a/' + x)",
    "url('https://a/' + x).getEscapedPath() == url('https://a/?a=' + x).getHost()",
    "url('https://a/?&a=' + x).getQuery() == {}",
    "isIP(x) || isCIDR('1.1.1.1/' + x)",
    "x.format(['a', 1]) == x",
    "'%s %x'.format([[x, x], x]) == x",
    "strings.quote(x) == x.lowerAscii()",
    "x.split('') == [x]",
    "x.lastIndexOf(x + 'b') == x.indexOf('b' + x)",
    "x.contains(x + 'b') || x.startsWith(x) && x.endsWith(x)",
    "format.dns1123Subdomain().validate(x).hasValue()",
    "format.qualifiedName().validate(x).hasValue()",
    "format.byte().validate(x).hasValue()",
    "x.charAt(0) == x.substring(1).trim()",
    "int(x) == 1 || double(x) == 1.0 || bool(x)",
    "bytes(x) == bytes(y) || string(bytes(x)) < x",
    "device.attributes[x].model == x",
    "x.matches(x)",
    "x.findAll(x).size() == 1",
)
ATOMS = (
    "a",
    ".",
    "\\pL",
    "\\PN",
    "[^a]",
    "[a-z]",
    "\\w",
    "(?i)é",
    "^",
    "$",
    "\\b",
    "a|b",
    "\\Qa\\E",
    "[[:alpha:]]",
    "()",
)
REPETITIONS = ("", "*", "+", "?", "*?", "{2}", "{1,9}", "{50}", "{1,255}", "{1000}", "{0,1000}")
MATCHES = (
    "T.matches(r'P')",
    "matches(T, r'P')",
    "T.find(r'P') == ''",
    "T.findAll(r'P').size() > 1",
    "T.findAll(r'P', 3) == []",
)
RANGES = (
    "lists.range(9)",
    "lists.range(900)",
    "[1, 2, 3]",
    "{'a': 1, 'b': 2}",
    "device.attributes",
    "'a,b'.split(',')",
)
MACROS = ("all", "exists", "exists_one", "map", "filter", "sortBy")


class Expressions:
    """A generator of random expressions, most of them of type bool."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def expression(self) -> str:
        makers: tuple[Callable[[], str], ...] = (self._values, self._lists, self._texts, self._pattern, self._macro)
        made = self._rng.choice(PLAIN) if self._rng.random() < 0.3 else self._rng.choice(makers)()
        return f"{self._rng.choice(('true', 'false'))} || {made}" if self._rng.random() < 0.2 else made

    def _values(self) -> str:
        return self._chained(self._rng.choice(VALUES), NESTED, ABOUT_VALUES)

    def _lists(self) -> str:
        return self._chained(self._rng.choice(VALUES), LISTS, ABOUT_VALUES)

    def _texts(self) -> str:
        return self._chained(f"'{self._rng.choice(PARTS)}'", TEXTS, ABOUT_TEXTS)

    def _chained(self, start: str, steps: tuple[str, ...], about: tuple[str, ...]) -> str:
        """A step applied to x a number of times; in the end y is a value of its own that was made in the same way."""
        rng = self._rng
        # One step on most levels: a chain of different ones fails early.
        step, levels = rng.choice(steps), rng.randint(0, MAX_LEVELS)
        made = "x"
        for _ in range(levels):
            taken = rng.choice(steps) if rng.random() < 0.05 else step
            made = f"cel.bind(x, {taken}, {made})"
        made = f"cel.bind(x, {start}, {made})"
        return f"cel.bind(x, {made}, cel.bind(y, {made}, {rng.choice(about)}))"

    def _pattern(self) -> str:
        rng = self._rng
        text = f"'{rng.choice(PARTS) * rng.choice((1, 9, 99))}'"
        calls = [
            rng.choice(MATCHES).replace("P", self._atoms()).replace("T", text) for _ in range(rng.choice((1, 1, 9)))
        ]
        return " || ".join(calls)

    def _atoms(self, depth: int = 0) -> str:
        rng = self._rng
        made = ""
        for _ in range(rng.randint(1, 4)):
            atom = f"({self._atoms(depth + 1)})" if depth < 3 and rng.random() < 0.3 else rng.choice(ATOMS)
            made += atom + rng.choice(REPETITIONS)
        return made

    def _macro(self, depth: int = 0) -> str:
        rng = self._rng
        name = f"i{depth}"
        body = (
            self._macro(depth + 1)
            if depth < 3 and rng.random() < 0.5
            else rng.choice((f"{name} == {name}", "true", "1 / 0 > 0"))
        )
        macro = rng.choice(MACROS)
        call = f"{rng.choice(RANGES)}.{macro}({name}, {body})"
        return call if macro in MACROS[:3] else f"{call}.size() > 1"
