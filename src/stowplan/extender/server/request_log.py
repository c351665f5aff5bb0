"""Requests and replies as log lines."""

from __future__ import annotations

import msgspec

from stowplan import logs
from stowplan.extender.server.message_sanitizer import MessageSanitizer
from stowplan.extender.server.request_handling import HttpExchange

log = logs.get(__name__)

_MAX_SHOWN_BYTES = 64 * 1024
"""Of larger bodies, with hundreds of nodes, the size is logged."""
_MAX_TEXT_LENGTH = 2048


class RequestLog:
    """Logs every exchange, sanitized."""

    def __init__(self) -> None:
        self._sanitizer = MessageSanitizer()

    def note(self, exchange: HttpExchange) -> None:
        facts, reply = exchange.reply.facts, exchange.reply
        log.info(
            "Answered",
            verb=exchange.verb,
            path=exchange.path,
            client=exchange.client,
            pod=facts.pod,
            status=reply.status,
            nodesIn=facts.nodes_in,
            nodesOut=facts.nodes_out,
            seconds=round(exchange.seconds, 6),
            err=facts.error,
            request=self._shown(exchange.request),
            reply=self._shown(reply.body),
        )

    def _shown(self, body: bytes | bytearray) -> str:
        if len(body) > _MAX_SHOWN_BYTES:
            return f"{len(body):,} bytes"
        try:
            text = msgspec.json.encode(self._sanitizer.message(body)).decode()
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return f"{len(body):,} bytes that are not JSON"
        return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]}… ({len(body):,} bytes)"
