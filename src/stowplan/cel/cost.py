"""The cost of an evaluation, charged before the work is done.

Three limits end an evaluation, and nothing in an expression can absorb them. `spend` counts Kubernetes' cost model,
which decides what users see. That model charges little for some expensive calls: a pattern by its length though its
program may be a thousand times larger, `replace` by its input, a concatenation of lists and a comparison of nested
ones one unit. So `work` counts memory, matching, parsing and comparing as well, and the thread's CPU time is limited.
Expressions that reach the last two limits take kube-scheduler seconds and gigabytes.

Upstream: k8s.io/apiserver/pkg/cel/library/cost.go, github.com/google/cel-go/interpreter/runtimecost.go
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from stowplan.cel.values import CelError, EvaluationStoppedError, shown, size

if TYPE_CHECKING:
    from stowplan.cel.regex import Regex

COST_LIMIT = 1_000_000
"""CELSelectorExpressionMaxCost, in units of CEL's cost model."""
WORK_LIMIT = 50_000_000
"""Units of work of one evaluation. A unit is a byte of memory or about 10 ns."""
EXPENSIVE_WORK, EXPENSIVE_SECONDS = WORK_LIMIT // 500, 0.001
"""From here on, the result of an evaluation is worth keeping."""
CPU_LIMIT_SECONDS = 1.0
"""CPU time of one evaluation. CPU time, since a process that was suspended has not worked."""

CHAR_WORK = 4
ITEM_WORK = 16
"""An element of a list, as a reference."""
TEXT_ITEM_WORK = 64
"""An element of a list that is a new string."""
ENTRY_WORK = 100
"""An entry of a map."""

SORT_WORK, SORTED_CHARS = 50, 32
"""Work of a comparison in a sort, and the characters that are compared in a unit of it."""

_CALLS_PER_CHECK = 16
_SLOW_CHECK_SECONDS = 0.02
_CHECK_WORK = WORK_LIMIT // 50
"""Work after which the time is checked."""
_TRAVERSAL = 0.1
_REGEX = 0.25

Clock: TypeAlias = Callable[[], float]
Cost: TypeAlias = Callable[[Sequence[Any]], int]
"""The cost of a call, from its arguments."""


class CostTracker:
    """Counts one evaluation. Every method raises EvaluationStoppedError beyond a limit."""

    __slots__ = ("_checked_work", "_clock", "_last", "_left", "_started", "_work", "cost", "regexes")

    def __init__(self, clock: Clock = time.thread_time) -> None:
        self._clock = clock
        self._started = self._last = -1.0
        self._left = _CALLS_PER_CHECK
        self._work = 0
        self._checked_work = _CHECK_WORK
        self.cost = 0
        self.regexes: dict[str, Regex | CelError] = {}
        """Programs that are kept for this evaluation, whose compilation is paid for."""

    def spend(self, cost: int) -> None:
        """Charge units of the cost model, before the call that they pay for."""
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise EvaluationStoppedError("operation cancelled: actual cost limit exceeded")
        self._left -= 1
        if self._left <= 0:
            self.check_time()

    def work(self, units: int) -> None:
        """Charge memory that is about to be taken, or matching that is about to be done."""
        self._work += units
        if self._work > WORK_LIMIT:
            raise EvaluationStoppedError("operation cancelled: actual cost limit exceeded")
        if self._work > self._checked_work:
            self._checked_work = self._work + _CHECK_WORK
            self.check_time()

    @property
    def is_expensive(self) -> bool:
        """Whether the evaluation so far has taken a millisecond or more, by its work or by the clock."""
        return self._work >= EXPENSIVE_WORK or (self._started >= 0 and self._last - self._started >= EXPENSIVE_SECONDS)

    def check_time(self) -> None:
        now = self._clock()
        if self._started < 0:
            # Counted from the first check: most evaluations end before it, and reading the clock is a system call.
            self._started = self._last = now
        if now - self._started > CPU_LIMIT_SECONDS:
            raise EvaluationStoppedError(f"operation interrupted: CPU time exceeds {CPU_LIMIT_SECONDS:g}s")
        # Slow calls are checked one by one.
        self._left = 1 if now - self._last > _SLOW_CHECK_SECONDS else _CALLS_PER_CHECK
        self._last = now


def charge_sort(tracker: CostTracker, keys: Sequence[Any]) -> None:
    """Charge the comparisons of a sort, each of which may read the whole of a text."""
    units = sum(SORT_WORK + len(key) // SORTED_CHARS if isinstance(key, (str, bytes)) else SORT_WORK for key in keys)
    tracker.work(units * len(keys).bit_length())


def per_character(units: int, position: int = 0) -> Cost:
    """Work in proportion to the length of an argument."""
    return lambda args: units * size(args[position])


def constant(_: Sequence[Any]) -> int:
    return 1


def by_first(args: Sequence[Any]) -> int:
    """One pass over the first argument."""
    return math.ceil(size(args[0]) * _TRAVERSAL)


def by_first_twice(args: Sequence[Any]) -> int:
    return math.ceil(size(args[0]) * 2 * _TRAVERSAL)


def by_both(args: Sequence[Any]) -> int:
    return math.ceil((size(args[0]) + size(args[1])) * _TRAVERSAL)


def by_shorter(args: Sequence[Any]) -> int:
    return math.ceil(min(size(args[0]), size(args[1])) * _TRAVERSAL)


def by_product(args: Sequence[Any]) -> int:
    return math.ceil(size(args[0]) * _TRAVERSAL) * math.ceil(size(args[1]) * _TRAVERSAL)


def by_pattern(text_size: int, pattern_size: int) -> int:
    """A pattern matched against a text."""
    return math.ceil((1 + text_size) * _TRAVERSAL) * math.ceil(pattern_size * _REGEX)


def by_regex(args: Sequence[Any]) -> int:
    return by_pattern(size(args[0]), size(args[1]))


def by_second(args: Sequence[Any]) -> int:
    return size(args[1])


def by_list(args: Sequence[Any]) -> int:
    """One pass over a list and the strings in it."""
    items = args[0]
    if isinstance(items, list):
        return sum(by_first((i,)) if isinstance(i, (str, bytes)) else 1 for i in items)
    return by_first(args)


def by_joined(args: Sequence[Any]) -> int:
    """Two passes over the result of `join`."""
    return math.ceil(joined_size(*args) * 2 * _TRAVERSAL)


def joined_size(items: Sequence[Any], separator: str = "") -> int:
    """The length of a joined string; raises CelError if an element is not a string."""
    for item in items:
        if not isinstance(item, str):
            raise CelError(f"join: invalid input: {shown(item)}")
    return sum(map(len, items)) + max(len(items) - 1, 0) * len(separator)
