"""Reviews by the API server (TokenReview, SubjectAccessReview), with retries and a cache.

Upstream: k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go, k8s.io/apiserver/pkg/util/webhook/webhook.go
"""

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

_MAX_CACHED_REVIEWS = 4096
_REVIEW_TIMEOUT_SECONDS = 10.0
"""For all attempts of one review."""
_RETRY_PAUSES_SECONDS = (0.5, 0.75, 1.1, 1.7)


class ApiClient(Protocol):
    """A client of the API server."""

    async def request(self, method: str, path: str, body: bytes | None = None, *, timeout: float = 60.0) -> bytes: ...

    async def close(self) -> None: ...


class Review(NamedTuple):
    """A kind of review and its metrics."""

    path: str
    total: Family[NumberSeries]
    duration: Family[Histogram]


async def create_review(client: ApiClient, review: Review, body: Mapping[str, Any], reply: type[S]) -> S:
    """Create a review and return the reply. Retries connection failures, 429 and 5xx. Raises ClusterError."""
    content = msgspec.json.encode(body)
    try:
        async with asyncio.timeout(_REVIEW_TIMEOUT_SECONDS):
            for pause in _RETRY_PAUSES_SECONDS:
                try:
                    return await _create_once(client, review, content, reply)
                except (ApiError, ConnectionFailedError) as error:
                    if isinstance(error, ApiError) and error.status < 500 and error.status != 429:
                        raise
                await asyncio.sleep(pause)
            return await _create_once(client, review, content, reply)
    except TimeoutError:
        raise ConnectionFailedError(f"{review.path}: no answer in time") from None


async def _create_once(client: ApiClient, review: Review, content: bytes, reply: type[S]) -> S:
    began = monotonic()
    code = "<error>"
    try:
        answer = await client.request("POST", review.path, content, timeout=_REVIEW_TIMEOUT_SECONDS)
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
    """Results of reviews with a time to live. The oldest are evicted beyond a maximum."""

    def __init__(self, clock: Callable[[], float] = monotonic, max_entries: int = _MAX_CACHED_REVIEWS) -> None:
        self._clock = clock
        self._kept: LruMap[K, tuple[V, float]] = LruMap(max_entries)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> tuple[V] | None:
        """The result in a tuple, since it may be None; None where nothing valid is cached."""
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
