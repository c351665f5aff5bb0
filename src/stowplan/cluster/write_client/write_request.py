"""A request and its outcome."""

from __future__ import annotations

from stowplan.cluster.errors import ClusterError, ConnectionFailedError

JSON = b"application/json"
TIMEOUT_SECONDS = 30.0


class NotLeaderError(ClusterError):
    """The request was not sent, since another instance may be the leader."""


class TimedOutError(ConnectionFailedError):
    """No reply arrived in time."""


class ClosedError(ConnectionFailedError):
    """The writer is closed."""


class WriteRequest:
    """One request. Subclasses handle the outcome."""

    __slots__ = ("body", "content_type", "method", "path", "timeout", "tries")

    accept = JSON
    """Media type of the reply."""
    finishes = False
    """Whether this is the last write for an object."""

    def __init__(
        self,
        method: bytes,
        path: bytes,
        body: bytes = b"",
        content_type: bytes = JSON,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.method = method
        self.path = path
        """The API path, escaped."""
        self.body = body
        self.content_type = content_type
        self.timeout = timeout
        """Seconds from sending the request to the end of its reply."""
        self.tries = 0
        """Retries after a temporary rejection."""

    def replied(self, status: int, body: bytes) -> None:
        """The server replied, with any status."""
        raise NotImplementedError

    def lost(self, error: ClusterError, sent: bool) -> None:
        """There is no reply. A request that was `sent` may have been carried out."""
        raise NotImplementedError
