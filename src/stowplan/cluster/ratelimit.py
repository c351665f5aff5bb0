"""How fast requests may follow each other: `clientConnection`'s qps and burst."""

from collections.abc import Callable


class TokenBucket:
    """Allows `burst` requests at once and `qps` a second in the long run; a qps of 0 or less sets no limit.

    Requests are served in turn: each `take` books the next free slot, also one that lies ahead.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        self._filled_at = clock()

    def take(self) -> float:
        """Book a request; the seconds to wait before it is sent, 0 for none."""
        if self._qps <= 0:
            return 0.0
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(now - self._filled_at, 0.0) * self._qps) - 1
        self._filled_at = now
        return max(-self._tokens / self._qps, 0.0)
