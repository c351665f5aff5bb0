"""Recording of requests and replies as lines in a file, sanitized, for replay against other code."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from stowplan import api
from stowplan.errors import InputError
from stowplan.extender.handlers import Verb
from stowplan.extender.server.line_file import LineFile
from stowplan.extender.server.message_sanitizer import MessageSanitizer
from stowplan.extender.server.request_handling import HttpExchange


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a recording: a request with its reply, or a node that requests name."""

    time: float = 0.0
    verb: Verb | None = None
    status: int = 0
    request: msgspec.Raw = msgspec.Raw(b"null")
    reply: msgspec.Raw = msgspec.Raw(b"null")
    node: api.Node | None = None


class Recording:
    """Records every exchange, and the nodes that requests may name."""

    def __init__(
        self, file: LineFile, *, keep_annotations: Collection[str] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._sanitizer = MessageSanitizer(keep_annotations)
        self._clock = clock

    def add_nodes(self, nodes: Iterable[api.Node]) -> None:
        known = tuple(nodes)
        self._file.put(lambda: (msgspec.json.encode({"node": self._sanitizer.node(node)}) for node in known))

    def note(self, exchange: HttpExchange) -> None:
        reply, at = exchange.reply.body, self._clock()
        self._file.put(lambda: (self._line(exchange, reply, at),), len(exchange.request) + len(reply))

    def _line(self, exchange: HttpExchange, reply: bytes, at: float) -> bytes:
        line = {
            "time": round(at, 3),
            "verb": exchange.verb,
            "status": exchange.reply.status,
            "request": self._sanitized(exchange.request),
            "reply": self._sanitized(reply),
        }
        return msgspec.json.encode(line)

    def _sanitized(self, body: bytes | bytearray) -> Any:
        try:
            return self._sanitizer.message(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None  # Not JSON, so it cannot be sanitized.


def read_recording(lines: Iterable[bytes], source: str) -> Iterator[Recorded]:
    """The lines of a recording. Raises InputError with the number of an invalid line."""
    decoder = msgspec.json.Decoder(Recorded)
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise InputError(f"{source}: line {number}: not a recorded request: {error}") from error
