"""A request and what becomes of it."""

from __future__ import annotations

from stowplan.cluster.errors import ClusterError, ConnectionFailedError

JSON = b"application/json"
TIMEOUT = 30.0


class NotLeaderError(ClusterError):
    """The request was not sent, because somebody else may be the leader."""


class TimedOutError(ConnectionFailedError):
    """There was no reply in time."""


class ClosedError(ConnectionFailedError):
    """Nothing is sent any more from here."""


class WriteRequest:
    """One request on its way. Whoever makes it says in a subclass what follows from its outcome."""

    __slots__ = ("body", "content_type", "method", "path", "timeout", "tries")

    accept = JSON
    """What the reply is to be written in."""
    finishes = False
    """Whether it is the last that is written for an object, rather than one on the way."""

    def __init__(
        self, method: bytes, path: bytes, body: bytes = b"", content_type: bytes = JSON, timeout: float = TIMEOUT
    ) -> None:
        self.method = method
        self.path = path
        """The API path, as it goes on the wire."""
        self.body = body
        self.content_type = content_type
        self.timeout = timeout
        """Seconds from the sending of the request to the end of its reply."""
        self.tries = 0
        """How often the server has put the request off."""

    def replied(self, status: int, body: bytes) -> None:
        """The server answered, whatever it was."""
        raise NotImplementedError

    def lost(self, error: ClusterError, sent: bool) -> None:
        """There is no answer. What was `sent` may have been carried out nevertheless."""
        raise NotImplementedError
