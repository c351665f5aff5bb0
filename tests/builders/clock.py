"""Time that a test moves by hand."""


class Clock:
    """A clock that stands still; a test sets `now`."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
