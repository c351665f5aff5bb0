"""Between transport and handlers: routing, metrics and observers."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple, Protocol

from stowplan import logs
from stowplan.extender.handlers import Verb, VerbReply
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.extender.server.paths import Paths

log = logs.get(__name__)


class VerbAnswers(Protocol):
    """Answers requests; usually `Handlers`."""

    async def answer(self, verb: Verb, body: bytes | bytearray, received_at: float | None = None) -> VerbReply: ...


class HttpExchange(NamedTuple):
    """A request and its reply."""

    verb: Verb
    path: str
    client: str
    request: bytes | bytearray
    reply: VerbReply
    seconds: float


class RequestObserver(Protocol):
    """Receives every exchange after the reply is made. Must not block."""

    def note(self, exchange: HttpExchange) -> None: ...


class RequestRefusal(NamedTuple):
    """A response to a request for an unknown path or with a wrong method."""

    status: int
    text: str
    cause: str
    """For metrics."""


class Answering:
    """Routes requests to the handlers, and updates metrics and observers."""

    def __init__(
        self, answers: VerbAnswers, paths: Paths, metrics: ServerMetrics, observers: Sequence[RequestObserver] = ()
    ) -> None:
        self._answers = answers
        self.paths = paths
        self.metrics = metrics
        self._observers = tuple(observers)

    def route(self, method: str, path: str) -> Verb | RequestRefusal:
        """The verb of the request, or the refusal."""
        verb = self.paths.find(path)
        if verb is None:
            return RequestRefusal(404, f"there is no {path}; there are {self.paths.listing()}", "unknown_path")
        if method != "POST":
            return RequestRefusal(405, f"{path} takes POST, as schedulers send it, not {method}", "method")
        return verb

    async def answer(
        self, verb: Verb, path: str, body: bytes | bytearray, began: float, client: str = ""
    ) -> tuple[int, bytes]:
        """Status and body of the reply to a request that began to arrive at that moment of the monotonic clock."""
        reply = await self._answers.answer(verb, body, began)
        seconds = monotonic() - began
        self.metrics.answered(reply.facts, reply.status, seconds, len(body), len(reply.body))
        if self._observers:
            exchange = HttpExchange(verb, path, client, body, reply, seconds)
            for observer in self._observers:
                _notify(observer, exchange)
        # Observers may keep the reply for its decision, without megabytes of nodes.
        content, reply.body = reply.body, b""
        return reply.status, content


def _notify(observer: RequestObserver, exchange: HttpExchange) -> None:
    """An error of an observer does not affect the reply."""
    try:
        observer.note(exchange)
    except Exception as problem:
        log.error(problem, "Failed to report a request", verb=exchange.verb, by=type(observer).__name__)
