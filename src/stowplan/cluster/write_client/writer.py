"""The write client: queue, rate limit, connections and retries of requests to the API server.

Read from the top: `submit` queues a request, `_pump` sends it on an idle connection, `on_reply` and `on_closed` end it.

Upstream: k8s.io/client-go/rest/request.go, net/http/transport.go (connection pool)
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic

from stowplan.cluster.connection import Connection, LoginMethod
from stowplan.cluster.dial import dial
from stowplan.cluster.errors import ClusterError, ConnectionFailedError, UntrustedServerError
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.tls_errors import tls_error_text
from stowplan.cluster.write_client.http_connection import HttpConnection
from stowplan.cluster.write_client.write_request import ClosedError, NotLeaderError, WriteRequest
from stowplan.errors import os_error_text

MAX_CONNECTIONS = 64
"""With more concurrent requests the API server and etcd batch more of them, and each costs less: at 64 a binding with
its event costs a fifth less than at 16. The API server serves as many at a time from kube-scheduler."""
MAX_RETRIES = 10
"""Retries of a request that the API server rejects for now (401, 429, or a status with Retry-After)."""
MAX_QUEUED_REQUESTS = 100_000
SWEEP_SECONDS = 1.0
DIAL_TIMEOUT_SECONDS = 10.0
MAX_IDLE_SECONDS = 30.0
"""Idle connections are closed from this side: a server that closes one first may do so while a request is on its way,
whose outcome is unknown then. API servers wait 90 s, some load balancers 60."""
STUCK_AFTER_SECONDS = 1.0
"""A connection without a reply for this long does not count towards `MAX_CONNECTIONS`."""
MAX_STUCK_FACTOR = 3
"""Additional connections for stuck ones, as a multiple of the usual maximum."""

_MAX_RETRY_AFTER_SECONDS = 60.0
_DRAIN_POLL_SECONDS = 0.005
_RETRY_SECONDS, _RETRY_FACTOR, _MAX_RETRY_SECONDS, _RETRY_JITTER = 0.01, 5.0, 1.25, 0.1
_DIAL_BACKOFF_SECONDS, _MAX_DIAL_BACKOFF_SECONDS = 0.05, 1.0

_UNAUTHORIZED, _TOO_MANY_REQUESTS, _SERVER_ERROR = 401, 429, 500
_REQUEST = b"%b %b%b HTTP/1.1\r\n%bAccept: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"

Observe = Callable[[str, str, float, int, int], object]
"""Called for every request that was sent: method, status or "<error>", seconds, bytes sent and received."""


def _always() -> bool:
    return True


class Writer:
    """Sends requests in order, as soon as a connection, the rate limit and leadership allow; the two lanes of the queue
    take turns.

    Queued requests fail with every failed attempt to connect. A request that may have arrived is not repeated, unless
    the API server rejected it for now. Lives on one event loop; all calls and outcomes are on its thread.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        connections: int = MAX_CONNECTIONS,
        limiter: TokenBucket | None = None,
        may_write: Callable[[], bool] = _always,
        max_queued: int = MAX_QUEUED_REQUESTS,
        observe: Observe | None = None,
        sweep_seconds: float = SWEEP_SECONDS,
        rng: random.Random | None = None,
    ) -> None:
        self._connection = connection
        self._max_connections = connections
        self._take_token = limiter.take if limiter is not None else None
        self._may_write = may_write
        self._max_queued = max_queued
        self._observe = observe
        self._sweep_seconds = sweep_seconds
        self._rng = rng or random.Random()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self.outstanding = 0
        """Requests without an outcome, sent or not."""

        self._queue = RequestQueue()
        self._delayed: dict[WriteRequest, asyncio.TimerHandle] = {}
        self._token_timer: asyncio.TimerHandle | None = None
        """Runs until the rate limit allows the first queued request."""
        self._has_token = False

        self._login: LoginMethod | None = None
        self._login_task: asyncio.Task[None] | None = None
        self._head = b""
        self._prefix = connection.prefix.encode()

        self._open: set[HttpConnection] = set()
        self._idle: list[HttpConnection] = []
        """Last in, first out, so that surplus connections stay idle and are closed."""
        self._stuck = 0
        """Connections without a reply for long, as of the last sweep."""
        self._opening = 0
        self._dials: set[asyncio.Task[None]] = set()
        self._dial_backoff = 0.0
        """Seconds until the next attempt to connect, after a failed one."""
        self._dial_timer: asyncio.TimerHandle | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Requests that are queued or wait for a retry."""
        return len(self._queue) + len(self._delayed)

    @property
    def lacks_connections(self) -> bool:
        """Whether requests are queued for another reason than the rate limit: the server is busy with earlier ones."""
        return bool(self._queue) and self._token_timer is None

    def submit(self, request: WriteRequest, delay: float = 0.0) -> None:
        """Send a request, after `delay` seconds. Its outcome is a call of its methods, never before this returns."""
        self.outstanding += 1
        if self._closed:
            self._lose(request, ClosedError("closed"), sent=False)
        elif len(self._queue) >= self._max_queued:
            self._lose(request, ConnectionFailedError("too many requests wait"), sent=False)
        elif delay:
            self._delay(request, delay)
        else:
            self._queue.append(request)
            self._pump()

    def submit_again(self, request: WriteRequest, attempt: int) -> None:
        """Send a request again after its `attempt`-th failure, with exponential backoff."""
        pause = min(_RETRY_SECONDS * _RETRY_FACTOR ** (attempt - 1), _MAX_RETRY_SECONDS)
        self.submit(request, pause * (1 + _RETRY_JITTER * self._rng.random()))

    async def drain(self, timeout: float) -> bool:
        """Wait for all requests and those that follow from them, then close. Returns whether all ended in time."""
        deadline = monotonic() + timeout
        while self.outstanding and monotonic() < deadline:
            await asyncio.sleep(_DRAIN_POLL_SECONDS)
        finished = not self.outstanding
        self.close()
        await asyncio.sleep(0)  # Lets connections close and losses be reported.
        return finished

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Abort all requests; their losses are reported in the loop's next iteration."""
        self._closed = True
        timers = (self._token_timer, self._dial_timer, self._sweep_timer, *self._delayed.values())
        for handle in (*timers, self._login_task, *self._dials):
            if handle is not None:
                handle.cancel()
        self._queue.put_back(self._delayed)
        self._delayed.clear()
        error = ClosedError("closed")
        self._lose_queued(error)
        for connection in tuple(self._open):
            connection.abort(error)

    # Sending
    def _pump(self) -> None:
        """Send as many queued requests as possible."""
        queue = self._queue
        while queue and not self._closed:
            login = self._connection.current()
            if login is None:
                self._renew_login()
                return
            if not self._may_write():
                self._lose(queue.pop(), NotLeaderError("not the leader, or not for sure"), sent=False)
                continue
            connection = self._take_idle(login.tls)
            if connection is None:
                self._connect(len(queue))
                return
            if self._take_token is not None and not self._within_rate(self._take_token):
                self._put_idle(connection, connection.since)
                return
            request = queue.pop()
            connection.send(request, self._bytes_of(request, login), login, monotonic())

    def _bytes_of(self, request: WriteRequest, login: LoginMethod) -> bytes:
        if login is not self._login:
            self._login, self._head = login, self._connection.head(login)
        body = request.body
        return _REQUEST % (
            request.method,
            self._prefix,
            request.path,
            self._head,
            request.accept,
            request.content_type,
            len(body),
            body,
        )

    def _within_rate(self, take_token: Callable[[], float]) -> bool:
        if self._token_timer is not None:
            return False
        if self._has_token:
            self._has_token = False
            return True
        wait = take_token()
        if wait > 0:
            self._token_timer = self._loop.call_later(wait, self._on_token)
        return wait <= 0

    def _on_token(self) -> None:
        self._token_timer = None
        self._has_token = True
        self._pump()

    def _renew_login(self) -> None:
        if self._login_task is None:
            self._login_task = self._loop.create_task(self._log_in())

    async def _log_in(self) -> None:
        try:
            await self._connection.login()
        except ClusterError as error:
            self._lose_queued(error)
        finally:
            self._login_task = None
        self._pump()

    # Outcomes
    def on_reply(
        self, connection: HttpConnection, request: WriteRequest, status: int, body: bytes, retry_after: float | None
    ) -> None:
        now = monotonic()
        if self._observe is not None:
            self._observe(request.method.decode(), str(status), now - connection.since, len(request.body), len(body))
        self._put_idle(connection, now)
        again = status >= _UNAUTHORIZED and self._retry(connection, request, status, retry_after)
        # The server receives the next request before this side handles the last reply.
        if self._queue:
            self._pump()
        if again:
            return
        try:
            request.replied(status, body)
        finally:
            self.outstanding -= 1

    def on_closed(self, connection: HttpConnection, request: WriteRequest | None, error: ClusterError) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if request is not None:
            if self._observe is not None:
                seconds = monotonic() - connection.since
                self._observe(request.method.decode(), "<error>", seconds, len(request.body), 0)
            self._lose(request, error, sent=True)
        if self._queue:
            self._pump()

    def _retry(self, connection: HttpConnection, request: WriteRequest, status: int, retry_after: float | None) -> bool:
        """Schedule a retry of a request that the server rejects for now; False if the reply is final."""
        if self._closed or request.tries >= MAX_RETRIES:
            return False
        delay = retry_after
        if status == _UNAUTHORIZED:
            refused = connection.login
            renewable = refused is not None and self._connection.invalidate(refused)
            delay = 0.0 if renewable and not request.tries else None
        elif status == _TOO_MANY_REQUESTS:
            delay = 1.0 if retry_after is None else retry_after
        elif status < _SERVER_ERROR:
            return False
        if delay is None:
            return False
        request.tries += 1
        self._delay(request, min(delay, _MAX_RETRY_AFTER_SECONDS))
        return True

    def _delay(self, request: WriteRequest, delay: float) -> None:
        self._delayed[request] = self._loop.call_later(delay, self._end_delay, request)

    def _end_delay(self, request: WriteRequest) -> None:
        del self._delayed[request]
        self._queue.put_back((request,))
        self._pump()

    def _lose_queued(self, error: ClusterError) -> None:
        while self._queue:
            self._lose(self._queue.pop(), error, sent=False)

    def _lose(self, request: WriteRequest, error: ClusterError, sent: bool) -> None:
        self._loop.call_soon(self._report_loss, request, error, sent)

    def _report_loss(self, request: WriteRequest, error: ClusterError, sent: bool) -> None:
        try:
            request.lost(error, sent)
        finally:
            self.outstanding -= 1

    # Connections
    def _take_idle(self, tls: ssl.SSLContext | None) -> HttpConnection | None:
        """An idle connection that was opened with this context."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if connection.tls is tls and not connection.closing:
                return connection
            connection.close()
        return None

    def _put_idle(self, connection: HttpConnection, now: float) -> None:
        connection.since = now
        if not connection.closing:
            self._idle.append(connection)

    def _connect(self, wanted: int) -> None:
        """Open connections for `wanted` requests, less those being opened; none during a backoff."""
        if self._dial_timer is not None:
            return
        possible = self._max_connections - len(self._open) + self._stuck
        if self._dial_backoff:
            possible = min(possible, 1)  # One attempt shows whether the server is back.
        for _ in range(min(wanted, possible) - self._opening):
            self._opening += 1
            task = self._loop.create_task(self._dial())
            self._dials.add(task)
            task.add_done_callback(self._dials.discard)

    async def _dial(self) -> None:
        server, connection = self._connection.url, None
        error: ClusterError = ConnectionFailedError(f"{server}: connection closed at once")
        try:
            login = await self._connection.login()
            make = lambda: HttpConnection(self, login.tls)  # noqa: E731
            connection = await dial(self._connection, login, make, DIAL_TIMEOUT_SECONDS)
        except ClusterError as problem:
            error = problem
        except ssl.SSLCertVerificationError as problem:
            error = UntrustedServerError(f"{server}: the server's certificate is not trusted: {problem.verify_message}")
        except OSError as problem:
            text = tls_error_text(problem) or os_error_text(problem) or "no connection in time"
            error = ConnectionFailedError(f"{server}: {text}")
        self._opening -= 1
        if connection is None or connection.closing:
            self._on_dial_failed(error)
        else:
            self._on_dialed(connection)

    def _on_dialed(self, connection: HttpConnection) -> None:
        self._dial_backoff = 0.0
        self._open.add(connection)
        self._put_idle(connection, monotonic())
        if self._sweep_timer is None:
            self._sweep_timer = self._loop.call_later(self._sweep_seconds, self._sweep)
        self._pump()

    def _on_dial_failed(self, error: ClusterError) -> None:
        if self._dial_timer is None:
            self._dial_backoff = min(max(2 * self._dial_backoff, _DIAL_BACKOFF_SECONDS), _MAX_DIAL_BACKOFF_SECONDS)
            self._dial_timer = self._loop.call_later(self._dial_backoff, self._end_dial_backoff)
        if not self._open and not self._opening:
            self._lose_queued(error)

    def _end_dial_backoff(self) -> None:
        self._dial_timer = None
        self._pump()

    def _sweep(self) -> None:
        """Times out requests, closes idle connections, and counts stuck ones, so that new connections replace them.

        One timer serves all deadlines, which are met to within its period.
        """
        now = monotonic()
        login = self._connection.current()
        stuck = 0
        for connection in tuple(self._open):
            if connection.request is not None:
                if now >= connection.deadline:
                    connection.time_out()
                else:
                    stuck += now - connection.since > STUCK_AFTER_SECONDS
            elif now - connection.since > MAX_IDLE_SECONDS or (login is not None and connection.tls is not login.tls):
                connection.close()
        self._stuck = min(stuck, MAX_STUCK_FACTOR * self._max_connections)
        if stuck:
            self._pump()
        self._sweep_timer = self._loop.call_later(self._sweep_seconds, self._sweep) if self._open else None


class RequestQueue:
    """Two lanes that take turns: requests that finish an object's writes, and requests that begin them.

    A pod with claims needs writes before its binding. With one lane, the first of a thousand such pods would be bound
    only after the first write of the last.
    """

    __slots__ = ("_beginning", "_finish_next", "_finishing")

    def __init__(self) -> None:
        self._beginning: deque[WriteRequest] = deque()
        self._finishing: deque[WriteRequest] = deque()
        self._finish_next = True

    def __len__(self) -> int:
        return len(self._beginning) + len(self._finishing)

    def append(self, request: WriteRequest) -> None:
        (self._finishing if request.finishes else self._beginning).append(request)

    def put_back(self, requests: Iterable[WriteRequest]) -> None:
        """Put requests that were sent before, or were about to be, in front."""
        for request in requests:
            (self._finishing if request.finishes else self._beginning).appendleft(request)

    def pop(self) -> WriteRequest:
        """The next request. Raises IndexError if the queue is empty."""
        if self._finishing and (self._finish_next or not self._beginning):
            self._finish_next = False
            return self._finishing.popleft()
        self._finish_next = True
        return self._beginning.popleft()
