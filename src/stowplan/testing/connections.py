"""Kept-alive HTTPS connections to one server, shared by threads."""

import http.client
import select
import ssl
from collections import deque
from collections.abc import Mapping
from urllib.parse import urlsplit

from stowplan.testing.errors import UnreachableError


class ConnectionPool:
    """Every request takes an idle connection or opens one, and puts it back when the reply was read."""

    def __init__(self, url: str, tls: ssl.SSLContext, timeout: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._tls = tls
        self._timeout = timeout
        self._idle: deque[http.client.HTTPSConnection] = deque()

    def exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> tuple[int, bytes]:
        """Send a request and read the reply: its status and body."""
        connection = self._take()
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            result = response.status, response.read()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise UnreachableError(f"{method} {path}: {type(problem).__name__}: {problem}") from problem
        self._idle.append(connection)
        return result

    def open(self, method: str, path: str, headers: Mapping[str, str]) -> "Stream":
        """Send a request with a streaming reply, over a connection of its own."""
        connection = self._connection()
        try:
            connection.request(method, path, headers=dict(headers))
            return Stream(connection, connection.getresponse())
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise UnreachableError(f"{method} {path}: {type(problem).__name__}: {problem}") from problem

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> http.client.HTTPSConnection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connection()
            # An idle connection has something to read only once the server closed it, as when it was restarted.
            if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)


class Stream:
    """A reply that is read line by line while it comes."""

    def __init__(self, connection: http.client.HTTPSConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status
        self.reason = response.reason

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> bytes:
        try:
            line = self._response.readline()
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise UnreachableError(f"the stream broke: {type(problem).__name__}: {problem}") from problem
        if not line:
            raise StopIteration
        return line

    def read(self) -> bytes:
        return self._response.read()

    def close(self) -> None:
        self._response.close()
        self._connection.close()
