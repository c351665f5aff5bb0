"""Extenders with scripted answers that record their calls."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from stowplan.framework import NodeInfo, Pod
from stowplan.framework.extender import CallExtender, ExtenderMetaVictims, ExtenderVerb, ExtenderVictims


class FakeExtender:
    """`answers` has, by verb, a function of (pod, argument); nodes are given by name."""

    def __init__(
        self,
        name: str = "fake",
        *,
        weight: int = 1,
        ignorable: bool = False,
        interested: Callable[[Pod], bool] = lambda pod: True,
        **answers: Callable[[Pod, Any], Any],
    ) -> None:
        self.name = name
        self.weight = weight
        self.ignorable = ignorable
        self._interested = interested
        self._answers = answers
        self.asked: list[tuple[str, str, Any]] = []

    def serves(self, verb: ExtenderVerb) -> bool:
        return verb in self._answers

    def is_interested(self, pod: Pod) -> bool:
        return self._interested(pod)

    def answer(self, call: CallExtender) -> Any:
        argument = call.argument
        if isinstance(argument, list):
            argument = [each.name if isinstance(each, NodeInfo) else each for each in argument]
        told = sorted(argument) if isinstance(argument, Collection) and not isinstance(argument, str) else argument
        self.asked.append((call.verb, call.pod.name, told))
        answer = self._answers[call.verb](call.pod, argument)
        if call.verb == "preempt" and isinstance(answer, dict):
            return {node: _claim(each) for node, each in answer.items()}
        return answer

    async def call(self, request: CallExtender) -> Any:
        return self.answer(request)


def _claim(given: ExtenderMetaVictims | ExtenderVictims) -> ExtenderMetaVictims:
    if isinstance(given, ExtenderMetaVictims):
        return given
    return ExtenderMetaVictims(tuple(pod.uid for pod in given.victims), given.pdb_violations)


class WebExtender:
    """An extender on a thread of its own, for tests without an event loop; `answers` map requests to replies by path.

    A reply is JSON, or (status, bytes). `asked` has (path, request) in order.
    """

    def __init__(
        self, answers: Mapping[str, Callable[[Any], Any]], tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        outer = self
        self._connections: set[socket.socket] = set()
        self.asked: list[tuple[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # All at once, or the second part waits for the first one's acknowledgement.

            def do_POST(self) -> None:
                answer = answers.get(self.path)
                try:
                    request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                    outer.asked.append((self.path, request))
                    reply = (404, b"no such verb") if answer is None else answer(request)
                except (UnicodeError, json.JSONDecodeError, RecursionError):
                    reply = (400, b"no JSON")
                status, body = reply if isinstance(reply, tuple) else (200, json.dumps(reply).encode())
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None: ...

        class Server(ThreadingHTTPServer):
            def process_request(self, request: Any, client_address: Any) -> None:
                outer._connections.add(request)
                super().process_request(request, client_address)

            def shutdown_request(self, request: Any) -> None:
                outer._connections.discard(request)
                super().shutdown_request(request)

            def handle_error(self, *args: object) -> None:
                """The connection is closed without a word."""

        self._server = Server(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.prefix = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_port}"

    def of(self, path: str) -> list[Any]:
        """The requests to a path."""
        return [request for asked, request in self.asked if asked == path]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
