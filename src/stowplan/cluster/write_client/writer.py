"""Sends requests and brings back what becomes of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from time import monotonic

from stowplan.cluster.connection import Connection, LoginMethod
from stowplan.cluster.errors import ClusterError, ConnectionFailedError
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.write_client.http_connection import HttpConnection
from stowplan.cluster.write_client.pool import ConnectionPool
from stowplan.cluster.write_client.request_queue import RequestQueue
from stowplan.cluster.write_client.write_request import ClosedError, NotLeaderError, WriteRequest

CONNECTIONS = 64
"""With more requests at a time the server and its etcd take more of them in one go, and each costs them less: at 64 a
binding with its event costs a fifth less than at 16. The server serves as many at a time from kube-scheduler."""
MOST_TRIES = 10
"""How often a request is repeated that the server puts off."""
SWEEP_EVERY = 1.0
LONGEST_BACKLOG = 100_000

_LONGEST_WAIT = 60.0
_LOOK_EVERY = 0.005
_FIRST_PAUSE, _GROWTH, _LONGEST_PAUSE, _JITTER = 0.01, 5.0, 1.25, 0.1

_UNAUTHORIZED, _TOO_MANY, _SERVER_ERROR = 401, 429, 500
_REQUEST = b"%b %b%b HTTP/1.1\r\n%bAccept: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"

Observe = Callable[[str, str, float, int, int], object]
"""Is told of every request that was sent: the method, the status of the reply or "<error>", the seconds it took, and
how many bytes went out and came in."""


def _always() -> bool:
    return True


class Writer:
    """Sends requests in the order they come, as soon as a connection, the rate and leadership allow; those that finish
    something take turns with those that begin something.

    Those that wait while the server cannot be reached are lost with every attempt to reach it that fails. A request
    that may have arrived is never repeated here, unless the server itself asks for that. Lives on one event loop: all
    calls and all outcomes are on its thread.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        connections: int = CONNECTIONS,
        limiter: TokenBucket | None = None,
        may_write: Callable[[], bool] = _always,
        backlog: int = LONGEST_BACKLOG,
        observe: Observe | None = None,
        sweep_every: float = SWEEP_EVERY,
        rng: random.Random | None = None,
    ) -> None:
        self._connection = connection
        self._pool = ConnectionPool(connection, self, connections, sweep_every)
        self._rate = limiter.take if limiter is not None else None
        self._may_write = may_write
        self._longest = backlog
        self._observe = observe
        self._rng = rng or random.Random()
        self._loop = asyncio.get_running_loop()
        self._backlog = RequestQueue()
        self._delayed: dict[WriteRequest, asyncio.TimerHandle] = {}
        self._login: LoginMethod | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._head = b""
        self._prefix = connection.prefix.encode()
        self._slot: asyncio.TimerHandle | None = None
        """Runs until the rate allows the first request of the backlog."""
        self._paid = False
        self._closed = False
        self.outstanding = 0
        """Requests without an outcome, sent or not."""

    @property
    def waiting(self) -> int:
        """Requests that have not been sent yet, or are to be sent again."""
        return len(self._backlog) + len(self._delayed)

    def submit(self, exchange: WriteRequest, delay: float = 0.0) -> None:
        """Send a request, after so many seconds. Its outcome comes by its methods, never before this returns."""
        self.outstanding += 1
        if self._closed:
            self._lose(exchange, ClosedError("closed"), sent=False)
        elif len(self._backlog) >= self._longest:
            self._lose(exchange, ConnectionFailedError("too many requests wait"), sent=False)
        elif delay:
            self._delay(exchange, delay)
        else:
            self._backlog.append(exchange)
            self._pump()

    def submit_again(self, exchange: WriteRequest, attempt: int) -> None:
        """Send a request once more after so many attempts: first at once, or nearly, then ever later."""
        pause = min(_FIRST_PAUSE * _GROWTH ** (attempt - 1), _LONGEST_PAUSE)
        self.submit(exchange, pause * (1 + _JITTER * self._rng.random()))

    async def drain(self, timeout: float) -> bool:
        """Let everything end that is under way, also what follows from it, then close; whether there was time."""
        deadline = monotonic() + timeout
        while self.outstanding and monotonic() < deadline:
            await asyncio.sleep(_LOOK_EVERY)
        finished = not self.outstanding
        self.close()
        await asyncio.sleep(0)  # for the connections to be gone, and for losses to be told
        return finished

    def close(self) -> None:
        """Give up on whatever is under way; the losses are told in the loop's next round."""
        self._closed = True
        for handle in (self._slot, self._renewal, *self._delayed.values()):
            if handle is not None:
                handle.cancel()
        self._backlog.put_back(self._delayed)
        self._delayed.clear()
        error = ClosedError("closed")
        self.unreachable(error)
        self._pool.close(error)

    def _pump(self) -> None:
        """Send what can be sent now."""
        backlog = self._backlog
        while backlog and not self._closed:
            login = self._connection.current()
            if login is None:
                self._renew()
                return
            if not self._may_write():
                self._lose(backlog.pop(), NotLeaderError("not the leader, or not for sure"), sent=False)
                continue
            channel = self._pool.take(login.tls)
            if channel is None:
                self._pool.grow(len(backlog))
                return
            if self._rate is not None and not self._within_rate(self._rate):
                self._pool.give_back(channel, channel.since)
                return
            exchange = backlog.pop()
            channel.send(exchange, self._bytes_of(exchange, login), login, monotonic())

    def _bytes_of(self, exchange: WriteRequest, login: LoginMethod) -> bytes:
        if login is not self._login:
            self._login, self._head = login, self._head_for(login)
        body = exchange.body
        return _REQUEST % (
            exchange.method,
            self._prefix,
            exchange.path,
            self._head,
            exchange.accept,
            exchange.content_type,
            len(body),
            body,
        )

    def _head_for(self, login: LoginMethod) -> bytes:
        """The lines that all requests have in common."""
        connection = self._connection
        host = f"[{connection.host}]" if ":" in connection.host else connection.host
        headers = {
            "Host": f"{host}:{connection.port}",
            "User-Agent": connection.user_agent,
            **login.headers,
        }
        return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")

    def _within_rate(self, book: Callable[[], float]) -> bool:
        if self._slot is not None:
            return False
        if self._paid:
            self._paid = False
            return True
        wait = book()
        if wait > 0:
            self._slot = self._loop.call_later(wait, self._reach_slot)
        return wait <= 0

    def _reach_slot(self) -> None:
        self._slot = None
        self._paid = True
        self._pump()

    def _renew(self) -> None:
        if self._renewal is None:
            self._renewal = self._loop.create_task(self._log_in())

    async def _log_in(self) -> None:
        try:
            await self._connection.login()
        except ClusterError as error:
            self.unreachable(error)
        finally:
            self._renewal = None
        self._pump()

    # What the pool and its channels tell
    def ready(self) -> None:
        self._pump()

    def unreachable(self, error: ClusterError) -> None:
        while self._backlog:
            self._lose(self._backlog.pop(), error, sent=False)

    def replied(
        self, channel: HttpConnection, exchange: WriteRequest, status: int, body: bytes, retry_after: float | None
    ) -> None:
        now = monotonic()
        if self._observe is not None:
            self._observe(exchange.method.decode(), str(status), now - channel.since, len(exchange.body), len(body))
        self._pool.give_back(channel, now)
        again = status >= _UNAUTHORIZED and self._put_off(channel, exchange, status, retry_after)
        # The server gets its next request before anybody thinks about the reply to the last.
        if self._backlog:
            self._pump()
        if again:
            return
        try:
            exchange.replied(status, body)
        finally:
            self.outstanding -= 1

    def closed(self, channel: HttpConnection, exchange: WriteRequest | None, error: ClusterError) -> None:
        self._pool.forget(channel)
        if exchange is not None:
            if self._observe is not None:
                seconds = monotonic() - channel.since
                self._observe(exchange.method.decode(), "<error>", seconds, len(exchange.body), 0)
            self._lose(exchange, error, sent=True)
        if self._backlog:
            self._pump()

    def _put_off(self, channel: HttpConnection, exchange: WriteRequest, status: int, retry_after: float | None) -> bool:
        """Have a request sent again that the server did not want now; False if the reply is to be taken as it is."""
        if self._closed or exchange.tries >= MOST_TRIES:
            return False
        delay = retry_after
        if status == _UNAUTHORIZED:
            refused = channel.login
            renewable = refused is not None and self._connection.invalidate(refused)
            delay = 0.0 if renewable and not exchange.tries else None
        elif status == _TOO_MANY:
            delay = 1.0 if retry_after is None else retry_after
        elif status < _SERVER_ERROR:
            return False
        if delay is None:
            return False
        exchange.tries += 1
        self._delay(exchange, min(delay, _LONGEST_WAIT))
        return True

    def _delay(self, exchange: WriteRequest, delay: float) -> None:
        self._delayed[exchange] = self._loop.call_later(delay, self._end_delay, exchange)

    def _end_delay(self, exchange: WriteRequest) -> None:
        del self._delayed[exchange]
        self._backlog.put_back((exchange,))
        self._pump()

    def _lose(self, exchange: WriteRequest, error: ClusterError, sent: bool) -> None:
        self._loop.call_soon(self._tell_loss, exchange, error, sent)

    def _tell_loss(self, exchange: WriteRequest, error: ClusterError, sent: bool) -> None:
        try:
            exchange.lost(error, sent)
        finally:
            self.outstanding -= 1
