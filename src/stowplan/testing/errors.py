"""Errors of the test environment, as opposed to errors of the tested code."""

from stowplan.errors import StowplanError


class SurroundingsError(StowplanError):
    """A part of the test environment is missing or failed."""


class UnavailableError(SurroundingsError):
    """A binary, its toolchain or a package is missing on this machine."""


class ProcessFailedError(SurroundingsError):
    """A process did not start, or ended by itself. The text ends with the last lines of its log."""


class NotInTimeError(SurroundingsError):
    """A condition did not become true in time."""


class RefusedError(SurroundingsError):
    """The API server answered with an error. `reason` and `message` are those of its Status."""

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class UnreachableError(SurroundingsError):
    """The API server sent no response."""
