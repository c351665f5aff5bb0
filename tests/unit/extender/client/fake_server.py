"""Extenders with scripted replies over real connections, and a scheduling cycle that calls them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from aiohttp import web
from tests.builders import World

from stowplan.config.types import Extender as Entry
from stowplan.extender.client import build_extenders
from stowplan.framework import Pod
from stowplan.framework.extender import CallExtender
from stowplan.framework.instructions import Together
from stowplan.runtime import Decision

Say = Callable[[str, Any], Any]
"""From the path and the request to the reply: bytes, anything else as JSON, a web.Response, or an awaitable of one."""


class FakeServer:
    """Serves from `async with` to its end; `asked` has (path, request) in order."""

    def __init__(self, say: Say, tls: ssl.SSLContext | None = None) -> None:
        self._say = say
        self._tls = tls
        self.asked: list[tuple[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.prefix = ""

    async def __aenter__(self) -> FakeServer:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.prefix = f"http{'s' if self._tls else ''}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *args: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = json.loads(body) if body else None
        self.asked.append((request.path_qs, asked))
        self.headers.append(dict(request.headers))
        said = self._say(request.path, asked)
        if isinstance(said, Coroutine):
            said = await said
        if isinstance(said, web.StreamResponse):
            return said
        return web.Response(body=said if isinstance(said, bytes) else json.dumps(said).encode())


async def drive(steps: Any) -> Any:
    """Run a decision to its end, with the extender calls that it requests."""
    answer = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(request, Together):
            answer = [await drive(each) for each in request.coroutines]
        else:
            assert isinstance(request, CallExtender)
            answer = await request.extender.call(request)


def decide(world: World, item: Any, say: Say, *, asked: list[Any] | None = None, **entry: Any) -> Decision:
    """The decision about a pod with one extender of this entry, which filters by default."""

    async def run() -> Decision:
        async with FakeServer(say) as server:
            fields = {"filter_verb": "filter", "node_cache_capable": True, "url_prefix": server.prefix, **entry}
            extenders = world.profile.extenders = build_extenders([Entry(**fields)])
            pod = item if isinstance(item, Pod) else world.pod(item)
            decision = await drive(world.profile.decide_with_extenders(pod))
            await extenders[0].close()
            if asked is not None:
                asked.extend(server.asked)
            assert isinstance(decision, Decision)
            return decision

    return asyncio.run(run())


def replaced(entry: Entry, **fields: Any) -> Entry:
    return msgspec.structs.replace(entry, **fields)
