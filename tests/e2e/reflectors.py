"""Reflectors on a thread of their own, and a sink that keeps the objects they deliver."""

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Self

from stowplan.api.kinds import KINDS, Kind
from stowplan.cluster.client import Client
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.reflector import UNFINISHED_PODS, Item, Reflector


class State:
    """The objects delivered so far, and counts of syncs and of removals of unknown objects."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.synced_kinds: Counter[str] = Counter()
        self.missing_kinds: list[str] = []
        self.forbidden_kinds: list[tuple[str, str]] = []
        self.unknown_removals = 0

    def put(self, kind: Kind, items: list[Item]) -> None:
        self.objects.setdefault(kind.name, {}).update({_key(item): item for item, _ in items})

    def removed(self, kind: Kind, items: list[Any]) -> None:
        for item in items:
            if self.objects.get(kind.name, {}).pop(_key(item), None) is None:
                self.unknown_removals += 1

    def synced(self, kind: Kind) -> None:
        self.synced_kinds[kind.name] += 1

    def missing(self, kind: Kind) -> None:
        self.missing_kinds.append(kind.name)

    def forbidden(self, kind: Kind, verb: str) -> None:
        self.forbidden_kinds.append((kind.name, verb))

    def names(self, kind: str) -> set[str]:
        return {item.metadata.name for item in list(self.objects.get(kind, {}).values())}


def _key(item: Any) -> str:
    return f"{item.metadata.namespace}/{item.metadata.name}/{item.metadata.uid}"


class RunningReflectors:
    """Feeds of some kinds; a context manager."""

    def __init__(self, kubeconfig: Path, *kinds: str, page: int = 500) -> None:
        self.state = State()
        self._connection = load_connection(str(kubeconfig), env={})
        self._kinds = [KINDS[kind] for kind in kinds]
        self._page = page
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        client = Client(self._connection)
        reflectors = [asyncio.create_task(self._feed(client, kind).run()) for kind in self._kinds]
        over = asyncio.create_task(self._over.wait())
        try:
            done, _ = await asyncio.wait([over, *reflectors], return_when=asyncio.FIRST_COMPLETED)
            self._failure = next((task.exception() for task in done if task is not over), None)
        finally:
            for task in (over, *reflectors):
                task.cancel()
            await asyncio.gather(over, *reflectors, return_exceptions=True)
            await client.close()

    def _feed(self, client: Client, kind: Kind) -> Reflector:
        selector = UNFINISHED_PODS if kind.name == "Pod" else ""
        return Reflector(client, kind, self.state, field_selector=selector, page=self._page)
