"""What happens to a request between its transport and the handlers."""

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
    """Whoever answers requests; `Handlers`, mostly."""

    async def answer(self, verb: Verb, body: bytes | bytearray, received_at: float | None = None) -> VerbReply: ...


class HttpExchange(NamedTuple):
    """A request and what came of it."""

    verb: Verb
    path: str
    client: str
    request: bytes | bytearray
    reply: VerbReply
    seconds: float


class RequestObserver(Protocol):
    """Somebody who is shown every exchange, after the answer was made. It must not take long."""

    def note(self, exchange: HttpExchange) -> None: ...


class Refusal(NamedTuple):
    """An answer to what is no request of a scheduler."""

    status: int
    text: str
    cause: str
    """For metrics."""


class Answering:
    """Finds the verb, has it answered, and tells those who count, log and record."""

    def __init__(
        self, answers: VerbAnswers, paths: Paths, metrics: ServerMetrics, witnesses: Sequence[RequestObserver] = ()
    ) -> None:
        self._answers = answers
        self.paths = paths
        self.metrics = metrics
        self._witnesses = tuple(witnesses)

    def route(self, method: str, path: str) -> Verb | Refusal:
        """The verb that is asked for, or why there is none."""
        verb = self.paths.find(path)
        if verb is None:
            return Refusal(404, f"there is no {path}; there are {self.paths.listing()}", "unknown_path")
        if method != "POST":
            return Refusal(405, f"{path} takes POST, as schedulers send it, not {method}", "method")
        return verb

    async def answer(
        self, verb: Verb, path: str, body: bytes | bytearray, began: float, client: str = ""
    ) -> tuple[int, bytes]:
        """Status and body of the reply to a request that began to arrive at that moment of the monotonic clock."""
        reply = await self._answers.answer(verb, body, began)
        seconds = monotonic() - began
        self.metrics.answered(reply.facts, reply.status, seconds, len(body), len(reply.body))
        if self._witnesses:
            exchange = HttpExchange(verb, path, client, body, reply, seconds)
            for witness in self._witnesses:
                _show(witness, exchange)
        # Who keeps the reply for what it tells of the decision does not keep megabytes of nodes.
        content, reply.body = reply.body, b""
        return reply.status, content


def _show(witness: RequestObserver, exchange: HttpExchange) -> None:
    """The answer is made, and goes out whatever becomes of the telling of it."""
    try:
        witness.note(exchange)
    except Exception as problem:
        log.error(problem, "Failed to tell of a request", verb=exchange.verb, by=type(witness).__name__)
