"""The reflectors that fill the informer cache.

Upstream: k8s.io/client-go/tools/cache/reflector.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.reflector import REQUIRED_KINDS, UNFINISHED_PODS, Reflector, watched_kinds
from stowplan.extender.informer_cache.informer_cache import InformerCache


class InformerReflectors:
    """One reflector for each kind, on the event loop of `start`."""

    def __init__(
        self, connection: Connection, cache: InformerCache, kinds: Collection[str], *, keep_objects: bool
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._kinds = watched_kinds(kinds)
        self._keep_objects = keep_objects
        self._client: Client | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        client = self._client = Client(self._connection)
        for kind in self._kinds:
            reflector = Reflector(
                client,
                kind,
                self._cache,
                field_selector=UNFINISHED_PODS if kind.name == "Pod" else "",
                keep_objects=self._keep_objects and kind.name in REQUIRED_KINDS,
                required=kind.name in REQUIRED_KINDS,
            )
            self._tasks.append(asyncio.create_task(reflector.run(), name=kind.resource))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def problem(self) -> str | None:
        """Error of a reflector that ended, which only a bug causes; None while all run."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                return f"the reflector of {task.get_name()} ended: {task.exception()!r}"
        return None
