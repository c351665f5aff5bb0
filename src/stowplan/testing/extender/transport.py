"""One kept-alive connection to an extender, used as Go's client uses it."""

from __future__ import annotations

import gzip
import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from stowplan.testing.errors import UnreachableError


@dataclass(frozen=True)
class ExtenderExchange:
    """A request and its reply."""

    url: str
    request: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float


class ExtenderConnection:
    """Connects when it is first used, and again where the server hung up."""

    def __init__(self, timeout: float, tls: ssl.SSLContext | None) -> None:
        self._timeout = timeout
        self._tls = tls
        self._connection: http.client.HTTPConnection | None = None
        self._place = ("", "", 0)

    def post(self, url: str, body: bytes, content_type: str = "application/json") -> ExtenderExchange:
        """Raises UnreachableError."""
        parts = urlsplit(url)
        # The headers that Go's client sends.
        headers = {"Content-Type": content_type, "Accept-Encoding": "gzip", "User-Agent": "Go-http-client/1.1"}
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        began = time.monotonic()
        for attempt in (1, 2):
            reused = self._connection is not None
            connection = self._connect(parts.scheme, parts.hostname or "", parts.port)
            try:
                connection.request("POST", path, body, headers)
                reply = connection.getresponse()
                content = reply.read()
            except (OSError, http.client.HTTPException) as problem:
                self.close()
                if reused and attempt == 1 and isinstance(problem, http.client.RemoteDisconnected | ConnectionError):
                    continue  # An idle connection that the server has closed; Go retries too.
                words = f"{type(problem).__name__}: {problem}".rstrip(": ")
                raise UnreachableError(f'Post "{url}": {words}') from problem
            if reply.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            found = {key.lower(): value for key, value in reply.headers.items()}
            return ExtenderExchange(url, body, reply.status, found, content, time.monotonic() - began)
        raise AssertionError("unreachable")

    def _connect(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        place = (scheme, host, port or 0)
        if self._connection is None or self._place != place:
            self.close()
            self._place = place
            if scheme == "https":
                self._connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
