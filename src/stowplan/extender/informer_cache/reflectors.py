"""The feeds that fill a mirror, from the first list until the end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from stowplan.api.kinds import KINDS, Kind
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.reflector import UNFINISHED_PODS, Item, Reflector
from stowplan.extender.informer_cache.informer_cache import REQUIRED, InformerCache


class InformerReflectors:
    """Watches kinds of objects for a mirror, on the event loop that it is started on."""

    def __init__(
        self, connection: Connection, mirror: InformerCache, kinds: Collection[str], *, keep_objects: bool
    ) -> None:
        self._connection = connection
        self._sink = _Sink(mirror)
        # What pods refer to is best heard of before pods.
        self._kinds = [KINDS[name] for name in (*sorted(set(kinds) - set(REQUIRED)), *REQUIRED)]
        self._keep_objects = keep_objects
        self._client: Client | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        client = self._client = Client(self._connection)
        for kind in self._kinds:
            feed = Reflector(
                client,
                kind,
                self._sink,
                field_selector=UNFINISHED_PODS if kind.name == "Pod" else "",
                keep_objects=self._keep_objects and kind.name in REQUIRED,
                required=kind.name in REQUIRED,
            )
            self._tasks.append(asyncio.create_task(feed.run(), name=kind.resource))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def problem(self) -> str | None:
        """Why news do not come any more, None where they do: a feed never ends by itself, unless there is a bug."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                return f"the feed of {task.get_name()} ended: {task.exception()!r}"
        return None


class _Sink:
    """A mirror as feeds want to have it."""

    def __init__(self, mirror: InformerCache) -> None:
        self._mirror = mirror
        self.missing = mirror.missing
        self.forbidden = mirror.forbidden

    def put(self, kind: Kind, items: list[Item]) -> None:
        self._mirror.put(kind, items)

    def removed(self, kind: Kind, items: list[Any]) -> None:
        self._mirror.removed(kind, items)

    def synced(self, kind: Kind) -> None:
        self._mirror.synced_kind(kind)
