"""A lease in memory that candidates on one virtual clock compete for, with the faults of a network."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from stowplan.api import LeaseSpec
from stowplan.cluster.errors import ApiError, ConnectionFailedError

T = TypeVar("T")


class SharedLease:
    """What the API server stores."""

    def __init__(self, spec: LeaseSpec | None = None) -> None:
        self.spec = spec
        self.version = 0
        self.history: list[str] = [] if spec is None else [spec.holder_identity or ""]

    def store(self, spec: LeaseSpec) -> int:
        self.spec = spec
        self.version += 1
        holder = spec.holder_identity or ""
        if not self.history or self.history[-1] != holder:
            self.history.append(holder)
        return self.version


class FakeLock:
    """One candidate's access to the lease. `trouble` is called before every request and returns the delays of request
    and reply in seconds, and whether the request or its reply is lost."""

    def __init__(self, lease: SharedLease, trouble: Callable[[], tuple[float, float, str]] | None = None) -> None:
        self._lease = lease
        self._trouble = trouble or (lambda: (0.0, 0.0, ""))
        self._version = -1
        self.requests: list[str] = []
        self.notes: list[str] = []
        self.broken = False

    async def read(self) -> LeaseSpec | None:
        # What does not arrive is not known, neither the lease nor its version.
        self._version, spec = await self._request("read", lambda: (self._lease.version, self._lease.spec))
        return spec

    async def create(self, spec: LeaseSpec) -> None:
        def act() -> int:
            if self._lease.spec is not None:
                raise ApiError(409, "AlreadyExists")
            return self._lease.store(spec)

        self._version = await self._request("create", act)

    async def update(self, spec: LeaseSpec) -> None:
        def act() -> int:
            if self._lease.version != self._version:
                raise ApiError(409, "Conflict")
            return self._lease.store(spec)

        self._version = await self._request("update", act)

    async def record_event(self, note: str) -> None:
        self.notes.append(note)

    async def _request(self, verb: str, act: Callable[[], T]) -> T:
        self.requests.append(verb)
        there, back, lost = self._trouble()
        await asyncio.sleep(there)
        if self.broken or lost == "there":
            raise ConnectionFailedError("lost")
        result = act()
        await asyncio.sleep(back)
        if lost == "back":
            raise ConnectionFailedError("lost")
        return result
