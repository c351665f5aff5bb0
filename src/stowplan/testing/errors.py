"""What can go wrong around a test, as opposed to in what it tests."""

from stowplan.errors import StowplanError


class SurroundingsError(StowplanError):
    """The control plane or a part of it cannot be had."""


class Unavailable(SurroundingsError):
    """What a control plane takes is not on this machine: a binary, the means to build it, a package."""


class ProcessFailed(SurroundingsError):
    """A process did not start, or ended by itself. The text ends with the last lines of its log."""


class NotInTime(SurroundingsError):
    """What was waited for did not come to pass."""


class Refused(SurroundingsError):
    """The API server answered with an error. `reason` and `message` are those of the Status that it sent."""

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class Unreachable(SurroundingsError):
    """The API server did not answer at all."""
