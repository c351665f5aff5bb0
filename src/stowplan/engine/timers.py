"""One-shot timers on an injected clock."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Timer:
    """A one-shot callback; `cancel()` disarms it."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class HeldClock:
    """A clock that can be held, so that what happens in one slice of work happens at the same time."""

    __slots__ = ("_clock", "held")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.held: float | None = None

    def __call__(self) -> float:
        return self._clock() if self.held is None else self.held

    def hold(self) -> None:
        self.held = self._clock()

    def release(self) -> None:
        self.held = None


class Timers:
    """Timers by deadline; timers with the same deadline run in the order in which they were set."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = count()

    def after(self, seconds: float, callback: Callable[[], None]) -> Timer:
        timer = Timer(callback)
        heappush(self._heap, (self._clock() + seconds, next(self._count), timer))
        return timer

    def run_due(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            callback = heappop(self._heap)[2].callback
            if callback is not None:
                callback()

    def next_deadline(self) -> float | None:
        while self._heap and self._heap[0][2].callback is None:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None
