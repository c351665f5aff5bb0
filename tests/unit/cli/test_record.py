"""`stowplan record`: all kinds are listed and watched, each change is written with its time, and nothing is changed."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from aiohttp import web
from click.testing import CliRunner
from tests.builders.objects import node, pod
from tests.unit.cluster.serving import serving

from stowplan.cli.main import cli
from stowplan.cli.record import watch
from stowplan.study.cluster_recording import ClusterRecording, RecordingWriter


class BindingServer:
    """Lists two nodes and a pending pod, and reports over the watch that the pod is bound, once all is listed."""

    def __init__(self) -> None:
        self.items: dict[str, list[Any]] = {
            "/api/v1/nodes": [node("n1", "4"), node("n2", "8")],
            "/api/v1/pods": [pod("a", requests={"cpu": 1})],
        }
        self.methods: set[str] = set()
        self.listed = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.methods.add(request.method)
        if "sendInitialEvents" in request.query:
            return web.json_response({"reason": "Invalid"}, status=422)
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "5"}, "items": self.items.get(request.path, [])})
        response = web.StreamResponse()
        await response.prepare(request)
        if request.path == "/api/v1/pods":
            await self.listed.wait()
            bound = pod("a", "n2", requests={"cpu": 1})
            bound["metadata"]["resourceVersion"] = "6"
            await response.write(json.dumps({"type": "MODIFIED", "object": bound}).encode() + b"\n")
        await asyncio.sleep(60)
        return response


def test_a_cluster_is_recorded_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"

    async def run() -> set[str]:
        server = BindingServer()
        async with serving(server.handle) as client:
            writer = RecordingWriter(file, "test", time.time, 2**20)

            def listed() -> None:
                writer.listed()
                server.listed.set()

            try:
                async with asyncio.timeout(20):
                    await watch(client.connection, writer, None, listed, lambda: writer.changes >= 4)
            finally:
                writer.close()
        return server.methods

    assert asyncio.run(run()) == {"GET"}
    recording = ClusterRecording(file)
    lines = [(change.kind, item.metadata.name if item else "") for change, item in recording.changes()]
    assert sorted(lines[:3]) == [("Node", "n1"), ("Node", "n2"), ("Pod", "a")]
    assert lines[3:] == [("", ""), ("Pod", "a")]
    assert recording.complete
    found = CliRunner().invoke(cli, ["replay", str(file)])
    assert found.stdout == "1 bound pod: 1 same\n"


def test_a_time_that_is_none_is_one_line() -> None:
    found = CliRunner().invoke(cli, ["record", "x.gz", "--for", "long"])
    assert found.exit_code == 2
    assert found.stderr.startswith("stowplan: --for long: expected a time such as 90s")
