"""The part of an API server that keeps leases."""

import json
from typing import Any

from aiohttp import web

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


class LeaseServer:
    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.events: list[dict[str, Any]] = []
        self.down = False

    async def handle(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read() or b"{}")
        if self.down:
            return web.Response(status=500)
        if request.path == "/api/v1/namespaces/kube-system/events":
            self.events.append(body)
            return web.json_response(body, status=201)
        if request.method == "POST" and request.path == COLLECTION:
            return self._store(body, 201) if self.lease is None else web.Response(status=409)
        assert request.path == f"{COLLECTION}/kube-scheduler"
        if self.lease is None:
            return web.Response(status=404)
        if request.method == "GET":
            return web.json_response(self.lease)
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return web.json_response({"code": 409, "reason": "Conflict"}, status=409)
        return self._store(body, 200)

    def _store(self, lease: dict[str, Any], status: int) -> web.Response:
        version = int(lease["metadata"].get("resourceVersion", "0")) + 1
        self.lease = {**lease, "metadata": {**lease["metadata"], "uid": "u1", "resourceVersion": str(version)}}
        return web.json_response(self.lease, status=status)

    @property
    def holder(self) -> str:
        return self.lease["spec"]["holderIdentity"] if self.lease else "nobody"
