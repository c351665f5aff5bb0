"""Rate limiter of requests: `clientConnection`'s qps and burst.

Upstream: k8s.io/client-go/util/flowcontrol/throttle.go
"""

from collections.abc import Callable


class TokenBucket:
    """Allows `burst` requests at once and `qps` per second on average; a qps of 0 or less disables it.

    Each `take` reserves the next free token, which may be in the future.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        self._filled_at = clock()

    def take(self) -> float:
        """Reserve a token. Returns the seconds to wait before the request is sent."""
        if self._qps <= 0:
            return 0.0
        self._fill()
        self._tokens -= 1
        return max(-self._tokens / self._qps, 0.0)

    def try_take(self) -> bool:
        """Take a token if there is one."""
        if self._qps <= 0:
            return True
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(now - self._filled_at, 0.0) * self._qps)
        self._filled_at = now
