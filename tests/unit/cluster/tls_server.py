"""A server on threads whose failed TLS handshakes end with alerts, which servers of asyncio do not send."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from typing import Self

_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class TlsServer:
    """Answers every request with `{}`; without a context, the first bytes of a client are answered with `raw`."""

    def __init__(self, context: ssl.SSLContext | None, raw: bytes = b"") -> None:
        self._context = context
        self._raw = raw
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(5)
        with contextlib.suppress(OSError), client:
            if self._context is None:
                client.recv(65536)
                client.sendall(self._raw)
                return
            with client.dup() as raw:  # Read to the end, or the alert would be overtaken by a reset.
                try:
                    self._reply(self._context.wrap_socket(client, server_side=True))
                except ssl.SSLError:
                    while raw.recv(65536):
                        pass

    def _reply(self, client: ssl.SSLSocket) -> None:
        with client:
            received = b""
            while b"\r\n\r\n" not in received:
                received += client.recv(65536)
            client.sendall(_REPLY)
