"""A scripted client, a sink that records its calls, and a reflector between them in virtual time."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from tests.unit.cluster import virtual_time

from stowplan.api.kinds import KINDS, Kind
from stowplan.cluster.client import Client
from stowplan.cluster.reflector import Item, Reflector

Step = bytes | Exception | float
"""A piece of a watch, its end with an error, or seconds of silence."""


class ScriptedClient:
    """Lists and watches are answered in order. When the script is at its end, so is the test."""

    def __init__(self, lists: list[bytes | Exception], watches: list[list[Step] | Exception]) -> None:
        self._lists = iter(lists)
        self._watches = iter(watches)
        self.requests: list[tuple[str, dict[str, str], float]] = []
        self.ended = asyncio.Event()

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        self.requests.append((path, dict(params or {}), virtual_time.now()))
        answer = await self._next(self._lists)
        if isinstance(answer, Exception):
            raise answer
        return cast(bytes, answer)

    @asynccontextmanager
    async def open_watch(
        self, path: str, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.requests.append((path, dict(params), virtual_time.now()))
        answer = await self._next(self._watches)
        if isinstance(answer, Exception):
            raise answer
        yield self._pieces(answer)

    async def _pieces(self, steps: list[Step]) -> AsyncIterator[bytes]:
        for step in steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, bytes):
                yield step
            else:
                await asyncio.sleep(step)

    async def _next(self, script: Any) -> Any:
        for answer in script:
            return answer
        self.ended.set()
        await asyncio.Event().wait()

    @property
    def watched_from(self) -> list[str]:
        return [params["resourceVersion"] for _, params, _ in self.requests if "watch" in params]

    @property
    def verbs(self) -> list[str]:
        return ["watch" if "watch" in params else "list" for _, params, _ in self.requests]

    @property
    def times(self) -> list[float]:
        return [round(at - 1000.0, 1) for _, _, at in self.requests]


class NotedSink:
    """Notes all calls: the verb and the names, with a uid where it differs from the name."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def put(self, kind: Kind, items: list[Item]) -> None:
        self.calls.append(("put", *(_name(item) for item, _ in items)))

    def removed(self, kind: Kind, items: list[Any]) -> None:
        self.calls.append(("removed", *map(_name, items)))

    def synced(self, kind: Kind) -> None:
        self.calls.append("synced")

    def missing(self, kind: Kind) -> None:
        self.calls.append("missing")

    def forbidden(self, kind: Kind, verb: str) -> None:
        self.calls.append(f"forbidden {verb}")


def _name(item: Any) -> str:
    name, uid = item.metadata.name, item.metadata.uid
    return name if uid == name else f"{name}:{uid}"


class _NoJitter(random.Random):
    def random(self) -> float:
        return 0.0


def play(
    lists: list[bytes | Exception],
    watches: list[list[Step] | Exception],
    kind: str = "Pod",
    *,
    streams: bool = False,
    **options: Any,
) -> tuple[ScriptedClient, list[Any]]:
    """Run a reflector until the script ends; returns the client with its requests, and the calls of the sink."""
    options["streams"] = streams

    async def main() -> tuple[ScriptedClient, list[Any]]:
        client, sink = ScriptedClient(lists, watches), NotedSink()
        feed = Reflector(cast(Client, client), KINDS[kind], sink, clock=virtual_time.now, rng=_NoJitter(), **options)
        running = asyncio.create_task(feed.run())
        ended = asyncio.create_task(client.ended.wait())
        await asyncio.wait([running, ended], return_when=asyncio.FIRST_COMPLETED)
        for task in (running, ended):
            if task.done():
                task.result()
            task.cancel()
        return client, sink.calls

    return virtual_time.run(main())


def pod(name: str, version: int = 0, uid: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid or name, "resourceVersion": str(version)}}


def listed(version: int, *pods: dict[str, Any], more: str = "") -> bytes:
    meta = {"resourceVersion": str(version), "continue": more}
    return json.dumps({"metadata": meta, "items": list(pods)}).encode()


def frame(type_: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": item}).encode() + b"\n"
