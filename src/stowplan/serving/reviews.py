"""Asking the API server about visitors, and remembering its answers for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from stowplan.cache.lru_map import LruMap
from stowplan.cluster.errors import ApiError, ClusterError, ConnectionFailedError
from stowplan.observe.series import Family, Histogram, NumberSeries

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound=msgspec.Struct)

_MOST = 4096
_PATIENCE = 10.0
"""Seconds that a visitor waits for the API server's word."""
_PAUSES = (0.5, 0.75, 1.1, 1.7)


class ApiClient(Protocol):
    """What is needed of a client of the API server."""

    async def request(self, method: str, path: str, body: bytes | None = None, *, timeout: float = 60.0) -> bytes: ...

    async def close(self) -> None: ...


class Review(NamedTuple):
    """A sort of question, and where its answers are counted."""

    path: str
    total: Family[NumberSeries]
    duration: Family[Histogram]


async def ask(client: ApiClient, review: Review, body: Mapping[str, Any], reply: type[S]) -> S:
    """Have something reviewed. Tries again where there was no answer. Raises ClusterError."""
    content = msgspec.json.encode(body)
    try:
        async with asyncio.timeout(_PATIENCE):
            for pause in _PAUSES:
                try:
                    return await _ask_once(client, review, content, reply)
                except (ApiError, ConnectionFailedError) as error:
                    if isinstance(error, ApiError) and error.status < 500 and error.status != 429:
                        raise
                await asyncio.sleep(pause)
            return await _ask_once(client, review, content, reply)
    except TimeoutError:
        raise ConnectionFailedError(f"{review.path}: no answer in time") from None


async def _ask_once(client: ApiClient, review: Review, content: bytes, reply: type[S]) -> S:
    began = monotonic()
    code = "<error>"
    try:
        answer = await client.request("POST", review.path, content, timeout=_PATIENCE)
        code = "201"
    except ApiError as error:
        code = str(error.status)
        raise
    finally:
        review.total.series(code).add()
        review.duration.series(code).observe(monotonic() - began)
    try:
        return msgspec.json.decode(answer, type=reply)
    except msgspec.DecodeError as error:
        raise ClusterError(f"{review.path}: the answer cannot be read: {error}") from error


class ReviewCache(Generic[K, V]):
    """Answers that hold for a while. The oldest are forgotten where there are too many."""

    def __init__(self, clock: Callable[[], float] = monotonic, most: int = _MOST) -> None:
        self._clock = clock
        self._kept: LruMap[K, tuple[V, float]] = LruMap(most)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> tuple[V] | None:
        """The answer in a tuple of its own, for it may be None; None where there is none that still holds."""
        found = self._kept.peek(key)
        if found is None:
            return None
        if found[1] <= self._clock():
            self._kept.pop(key)
            return None
        return (found[0],)

    def put(self, key: K, value: V, ttl: float) -> None:
        if ttl <= 0:
            return
        self._kept.put(key, (value, self._clock() + ttl))
