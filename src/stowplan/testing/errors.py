"""What can go wrong around a test, as opposed to in what it tests."""

from stowplan.errors import StowplanError


class SurroundingsError(StowplanError):
    """The control plane or a part of it cannot be had."""


class UnavailableError(SurroundingsError):
    """What a control plane takes is not on this machine: a binary, the means to build it, a package."""


class ProcessFailedError(SurroundingsError):
    """A process did not start, or ended by itself. The text ends with the last lines of its log."""


class NotInTimeError(SurroundingsError):
    """What was waited for did not come to pass."""


class RefusedError(SurroundingsError):
    """The API server answered with an error. `reason` and `message` are those of the Status that it sent."""

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class UnreachableError(SurroundingsError):
    """The API server did not answer at all."""
