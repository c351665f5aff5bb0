"""The connections that a writer has open."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from time import monotonic
from typing import Protocol

from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ClusterError, ConnectionFailedError, UntrustedServerError
from stowplan.cluster.write_client.dial import dial
from stowplan.cluster.write_client.http_connection import ConnectionOwner, HttpConnection

DIAL_TIMEOUT = 10.0
LONGEST_IDLE = 30.0
"""Seconds until an idle connection is closed from here: a server that closes it first may do so just as a request is
on its way, whose fate is unknown then. API servers wait 90 s, some load balancers 60."""

STUCK_AFTER = 1.0
"""Seconds without a reply after which a connection is no longer counted as one of those that requests wait for."""
MOST_TIMES = 4
"""How many times the usual number of connections there may be, with those that are stuck."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class PoolUser(ConnectionOwner, Protocol):
    """Who uses the connections."""

    def ready(self) -> None:
        """There is a connection, or it may be worth asking for one again."""
        ...

    def unreachable(self, error: ClusterError) -> None:
        """There is no connection, and the attempt to open one failed."""
        ...


class ConnectionPool:
    """Opens connections as they are needed, up to a number, and closes those that are idle for long or time out.

    A server that leaves some requests unanswered must not keep the others from it, so connections on which nothing
    comes back are made up for by new ones, within limits.
    """

    def __init__(self, connection: Connection, customer: PoolUser, most: int, sweep_every: float) -> None:
        self._connection = connection
        self._customer = customer
        self._most = most
        self._sweep_every = sweep_every
        self._loop = asyncio.get_running_loop()
        self._channels: set[HttpConnection] = set()
        self._idle: list[HttpConnection] = []
        """The last used is taken first, so that those which are too many fall idle for good."""
        self._stuck = 0
        """How many of them wait for a reply that is long in coming, as of the last sweep."""
        self._opening = 0
        self._dials: set[asyncio.Task[None]] = set()
        self._pause = 0.0
        """Seconds until the next attempt to connect, after the last one failed."""
        self._pausing: asyncio.TimerHandle | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    def take(self, tls: ssl.SSLContext | None) -> HttpConnection | None:
        """An idle connection that was opened with this context."""
        idle = self._idle
        while idle:
            channel = idle.pop()
            if channel.tls is tls and not channel.closing:
                return channel
            channel.close()
        return None

    def give_back(self, channel: HttpConnection, now: float) -> None:
        channel.since = now
        if not channel.closing:
            self._idle.append(channel)

    def forget(self, channel: HttpConnection) -> None:
        """A connection is gone."""
        self._channels.discard(channel)
        if channel in self._idle:
            self._idle.remove(channel)

    def grow(self, wanted: int) -> None:
        """Open connections for so many requests, unless they are being opened, or the server was just found gone."""
        if self._pausing is not None:
            return
        possible = self._most - len(self._channels) + self._stuck
        if self._pause:
            possible = min(possible, 1)  # One is enough to see whether the server is back.
        for _ in range(min(wanted, possible) - self._opening):
            self._opening += 1
            task = self._loop.create_task(self._dial())
            self._dials.add(task)
            task.add_done_callback(self._dials.discard)

    def close(self, error: ClusterError) -> None:
        for handle in (self._pausing, self._sweeper):
            if handle is not None:
                handle.cancel()
        for task in self._dials:
            task.cancel()
        for channel in tuple(self._channels):
            channel.abort(error)

    async def _dial(self) -> None:
        server, channel = self._connection.url, None
        error: ClusterError = ConnectionFailedError(f"{server}: connection closed at once")
        try:
            login = await self._connection.login()
            channel = await dial(
                self._connection, login, lambda: HttpConnection(self._customer, login.tls), DIAL_TIMEOUT
            )
        except ClusterError as problem:
            error = problem
        except ssl.SSLCertVerificationError as problem:
            error = UntrustedServerError(f"{server}: the server's certificate is not trusted: {problem.verify_message}")
        except OSError as problem:
            error = ConnectionFailedError(f"{server}: {_why(problem)}")
        self._opening -= 1
        if channel is None or channel.closing:
            self._fail(error)
        else:
            self._add(channel)

    def _add(self, channel: HttpConnection) -> None:
        self._pause = 0.0
        self._channels.add(channel)
        self.give_back(channel, monotonic())
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._sweep_every, self._sweep)
        self._customer.ready()

    def _fail(self, error: ClusterError) -> None:
        if self._pausing is None:
            self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
            self._pausing = self._loop.call_later(self._pause, self._end_pause)
        if not self._channels and not self._opening:
            self._customer.unreachable(error)

    def _end_pause(self) -> None:
        self._pausing = None
        self._customer.ready()

    def _sweep(self) -> None:
        """The one timer for all deadlines: they are met to within its period."""
        now = monotonic()
        login = self._connection.current()
        stuck = 0
        for channel in tuple(self._channels):
            if channel.exchange is not None:
                if now >= channel.deadline:
                    channel.time_out()
                else:
                    stuck += now - channel.since > STUCK_AFTER
            elif now - channel.since > LONGEST_IDLE or (login is not None and channel.tls is not login.tls):
                channel.close()
        self._stuck = min(stuck, (MOST_TIMES - 1) * self._most)
        if stuck:
            self._customer.ready()
        self._sweeper = self._loop.call_later(self._sweep_every, self._sweep) if self._channels else None


def _why(problem: OSError) -> str:
    if problem.errno and not isinstance(problem, ssl.SSLError | socket.gaierror):
        return os.strerror(problem.errno)  # which is clearer than what event loops make of it
    return str(problem) or "no connection in time"
