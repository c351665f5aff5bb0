"""Sending many requests to an API server: how objects get into it, and out again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice

from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.wire import MERGE_PATCH
from stowplan.cluster.write_client import JSON, Writer, WriteRequest

_MAX_CONCURRENT_CHAINS = 64
_CONNECTIONS = 16
_SUCCESS, _NOT_FOUND = 300, 404

Request = tuple[bytes, bytes, bytes]
"""Method, path and body; the body of a PATCH is a merge patch."""


def send_all(connection: Connection, requests: Iterable[Request]) -> int:
    """The same as `send`, where no event loop runs."""
    return asyncio.run(send(connection, requests))


async def send(connection: Connection, requests: Iterable[Request]) -> int:
    """Send the requests concurrently, and return their number. Objects to delete or change may be missing.

    Raises ClusterError if a request is refused or lost.
    """
    return await send_chains(connection, ((request,) for request in requests))


async def send_chains(
    connection: Connection, chains: Iterable[Iterable[Request]], at_once: int = _MAX_CONCURRENT_CHAINS
) -> int:
    """Send the chains concurrently, the requests of a chain one after the other, and return the number of requests."""
    batch = _Batch(Writer(connection, connections=_CONNECTIONS), chains, at_once)
    try:
        return await batch.done
    finally:
        await batch.writer.drain(0)


class _Batch:
    def __init__(self, writer: Writer, chains: Iterable[Iterable[Request]], at_once: int) -> None:
        self.writer = writer
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._rest = iter(chains)
        self._sent = 0
        self._under_way = 0
        self._start_more(at_once)

    def _start_more(self, most: int) -> None:
        for chain in islice(self._rest, most):
            self._under_way += 1
            self._advance(iter(chain))
        if not self._under_way and not self.done.done():
            self.done.set_result(self._sent)

    def _advance(self, chain: Iterator[Request]) -> None:
        request = next(chain, None)
        if request is None:
            self._under_way -= 1
            self._start_more(1)
            return
        self._sent += 1
        self.writer.submit(_One(self, chain, *request))

    def ended(self, chain: Iterator[Request], error: ClusterError | None) -> None:
        if error is None:
            self._advance(chain)
        elif not self.done.done():
            self.done.set_exception(error)


class _One(WriteRequest):
    __slots__ = ("_batch", "_chain")

    def __init__(self, batch: _Batch, chain: Iterator[Request], method: bytes, path: bytes, body: bytes) -> None:
        super().__init__(method, path, body, MERGE_PATCH if method == b"PATCH" else JSON)
        self._batch = batch
        self._chain = chain

    def replied(self, status: int, body: bytes) -> None:
        gone = status == _NOT_FOUND and self.method != b"POST"
        self._batch.ended(self._chain, None if status < _SUCCESS or gone else ApiError.from_reply(status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._batch.ended(self._chain, error)
