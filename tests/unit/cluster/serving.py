"""Small HTTP servers on loopback, for tests of clients."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.unit.cluster.certificates import authority_pem, server_certificate

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection, Credentials
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.cluster.tls import Trust

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

TestServer.__test__ = False


@asynccontextmanager
async def serving(
    handler: Handler, credentials: Credentials | None = None, *, tls_name: str = "", **options: Any
) -> AsyncIterator[Client]:
    """A client of a server that handles everything in one way, with TLS if its certificate is to bear a name."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(app)
    context = None
    if tls_name:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server_certificate(tls_name).configure_cert(context)
    await server.start_server(ssl=context)
    url = f"{'https' if tls_name else 'http'}://127.0.0.1:{server.port}"
    connection_options = {name: options.pop(name) for name in ("trust", "server_name", "proxy") if name in options}
    connection_options.setdefault("trust", Trust(CredentialSource("ca", data=authority_pem())))
    client = Client(Connection(url, credentials or StoredCredentials(), **connection_options), **options)
    try:
        yield client
    finally:
        await client.close()
        await server.close()
        await asyncio.sleep(0)


class WatchServer:
    """Lists objects, and sends events over the watch."""

    def __init__(self, nodes: list[Any], pods: list[Any]) -> None:
        self.items = {"/api/v1/nodes": nodes, "/api/v1/pods": pods}
        self.methods: set[str] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.methods.add(request.method)
        if "sendInitialEvents" in request.query:
            return web.json_response({"reason": "Invalid"}, status=422)
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "5"}, "items": self.items.get(request.path, [])})
        response = web.StreamResponse()
        await response.prepare(request)
        async for type_, item in self.events(request.path):
            item["metadata"]["resourceVersion"] = "6"
            await response.write(json.dumps({"type": type_, "object": item}).encode() + b"\n")
        await asyncio.sleep(60)
        return response

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """(type, object) of each event of the watch at the path."""
        return
        yield
