"""A stand-in of the API server: serves nodes and pods in pages or streamed, and confirms bindings by a watch.

It stores nothing but the pods that it creates after the start, serves plain HTTP, and answers each request that a
scheduler sends; other kinds are empty. Its objects have the size of real ones.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from stowplan.bench.object_pattern import ObjectPattern, overlay
from stowplan.bench.object_series import FIRST_RUNNING_POD_NUMBER, PAGE_NODES, node_name, node_pages
from stowplan.bench.scenario import load_object, load_scenario

VERSION = "v1.36.4"
NEW_PODS = "/stand-in/pods"
"""POST creates pods and replies when all are bound, with the seconds that it took."""

_SCENARIO = "memory"
_SEED = 1
_UID = re.compile('"uid":"[^"]*"')


class StandIn:
    """The cluster, and the requests about it."""

    def __init__(self, nodes: int, pods: int) -> None:
        self._scenario = load_scenario(_SCENARIO)
        self.nodes = nodes
        series = self._scenario.incoming
        self._pattern = ObjectPattern(overlay(load_object("pod")["object"], series.pod), series.vary)
        self.node_items = list(self._node_items())
        """The nodes as JSON, made before the first request."""
        self.pod_items = list(map(self._running_pod, range(pods)))
        self._version = 1
        self._new: dict[str, dict[str, Any]] = {}
        self._unbound: set[str] = set()
        self._all_bound = asyncio.Event()
        self._watched = asyncio.Event()
        self._pod_watches: list[asyncio.Queue[bytes]] = []

    def application(self) -> web.Application:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_get("/version", self._get_version)
        app.router.add_post(NEW_PODS, self._create)
        app.router.add_post("/api/v1/namespaces/{namespace}/pods/{name}/binding", self._bind)
        app.router.add_get("/api/v1/nodes", self._get_nodes)
        app.router.add_get("/api/v1/pods", self._get_pods)
        app.router.add_get("/apis/{group}", self._get_group)
        app.router.add_route("*", "/{path:.*}", self._other)
        return app

    # Lists
    def page(self, kind: str, items: list[bytes], first: int = 0) -> bytes:
        """A page of a list."""
        token = f',"continue":"{first + PAGE_NODES}"' if first + PAGE_NODES < len(items) else ""
        version = f'"resourceVersion":"{self._version}"'
        head = f'{{"apiVersion":"v1","kind":"{kind}","metadata":{{{version}{token}}},"items":['
        return head.encode() + b",".join(items[first : first + PAGE_NODES]) + b"]}"

    def _node_items(self) -> Iterator[bytes]:
        """Nodes by number: those of the first page again and again, with other names."""
        page = next(iter(node_pages(PAGE_NODES, self._scenario.cluster, _SEED)))
        items = [json.dumps(item, separators=(",", ":")) for item in json.loads(page)["items"]]
        for number in range(self.nodes):
            name, text = node_name(number % PAGE_NODES), items[number % PAGE_NODES]
            text = _UID.sub(f'"uid":"00000000-0000-4000-8000-{number:012x}"', text, count=1)
            yield text.replace(f'{name}"', f'{node_name(number)}"').encode()

    def _running_pod(self, number: int) -> bytes:
        kind = self._scenario.incoming.kind_of(number)
        return self._pattern.render(kind, FIRST_RUNNING_POD_NUMBER + number, node_name(number % self.nodes))

    # Requests
    async def _get_version(self, request: web.Request) -> web.Response:
        major, minor, _ = VERSION[1:].split(".")
        return web.json_response({"major": major, "minor": minor, "gitVersion": VERSION})

    async def _get_group(self, request: web.Request) -> web.Response:
        group = request.match_info["group"]
        versions = [{"groupVersion": f"{group}/v1", "version": "v1"}]
        return web.json_response({"kind": "APIGroup", "name": group, "versions": versions})

    async def _get_nodes(self, request: web.Request) -> web.StreamResponse:
        return await self._get(request, "NodeList", self.node_items)

    async def _get_pods(self, request: web.Request) -> web.StreamResponse:
        return await self._get(request, "PodList", self.pod_items)

    async def _get(self, request: web.Request, kind: str, items: list[bytes]) -> web.StreamResponse:
        if "watch" not in request.query:
            return _json(self.page(kind, items, int(request.query.get("continue", 0))))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if "sendInitialEvents" in request.query:
            await self._stream(response, items)
        events: asyncio.Queue[bytes] = asyncio.Queue()
        if kind == "PodList":
            self._pod_watches.append(events)
            self._watched.set()
        while True:
            await response.write(await events.get())

    async def _stream(self, response: web.StreamResponse, items: list[bytes]) -> None:
        """All objects, and the bookmark behind them."""
        for first in range(0, len(items), PAGE_NODES):
            frames = (b'{"type":"ADDED","object":' + item + b"}\n" for item in items[first : first + PAGE_NODES])
            await response.write(b"".join(frames))
        meta = {"resourceVersion": str(self._version), "annotations": {"k8s.io/initial-events-end": "true"}}
        await response.write(_frame("BOOKMARK", {"metadata": meta}))

    async def _create(self, request: web.Request) -> web.Response:
        loop, first = asyncio.get_running_loop(), len(self._new)
        await self._watched.wait()
        self._all_bound.clear()
        since = loop.time()
        for number in range(first, first + int(request.query["count"])):
            pod = json.loads(self._pattern.render(self._scenario.incoming.kind_of(number), number, ""))
            pod["status"] = {"phase": "Pending"}
            self._new[pod["metadata"]["name"]] = pod
            self._unbound.add(pod["metadata"]["name"])
            self._emit("ADDED", pod)
        await self._all_bound.wait()
        return web.json_response({"seconds": loop.time() - since})

    async def _bind(self, request: web.Request) -> web.Response:
        await request.read()
        name = request.match_info["name"]
        pod = self._new[name]
        # The node does not matter to the measurement; the body is protobuf.
        pod["spec"]["nodeName"] = node_name(len(self._unbound) % self.nodes)
        self._emit("MODIFIED", pod)
        self._unbound.discard(name)
        if not self._unbound:
            self._all_bound.set()
        return _json(b'{"kind":"Status","apiVersion":"v1","status":"Success"}', 201)

    def _emit(self, kind: str, pod: dict[str, Any]) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        for events in self._pod_watches:
            events.put_nowait(_frame(kind, pod))

    async def _other(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            await request.read()
            return _json(b"{}", 201)
        return await self._get(request, "List", [])


def _frame(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}, separators=(",", ":")).encode() + b"\n"


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


async def _application(nodes: int, pods: int) -> web.Application:
    return StandIn(nodes, pods).application()


if __name__ == "__main__":
    count_of_nodes, count_of_pods, port = map(int, sys.argv[1:])
    web.run_app(_application(count_of_nodes, count_of_pods), host="127.0.0.1", port=port, print=None)
