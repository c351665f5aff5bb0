from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from stowplan.bench.sizes.stand_in import NEW_PODS, StandIn


def items(pages: list[bytes]) -> list[dict[str, Any]]:
    return [item for page in pages for item in json.loads(page)["items"]]


def pages(stand_in: StandIn, listed: list[bytes]) -> list[bytes]:
    return [stand_in.page("List", listed, first) for first in range(0, len(listed), 500)]


def test_pages_hold_all_objects_under_names_of_their_own() -> None:
    async def steps() -> None:
        stand_in = StandIn(501, 1001)
        node_pages, pod_pages = pages(stand_in, stand_in.node_items), pages(stand_in, stand_in.pod_items)
        tokens = [json.loads(page)["metadata"].get("continue") for page in pod_pages]
        assert tokens == ["500", "1000", None]
        nodes, pods = items(node_pages), items(pod_pages)
        assert [node["metadata"]["name"] for node in nodes] == [f"node-{number}" for number in range(501)]
        assert len({node["metadata"]["uid"] for node in nodes}) == 501
        assert nodes[500]["metadata"]["labels"]["kubernetes.io/hostname"] == "node-500"
        assert len({pod["metadata"]["uid"] for pod in pods}) == 1001
        assert {pod["spec"]["nodeName"] for pod in pods} == {node["metadata"]["name"] for node in nodes}

    asyncio.run(steps())


def test_new_pods_are_watched_and_their_bindings_confirmed() -> None:
    async def steps() -> None:
        async with TestServer(StandIn(2, 3).application()) as server, ClientSession(server.make_url("/")) as client:
            async with client.get("/api/v1/pods", params={"limit": 500}) as reply:
                assert len((await reply.json())["items"]) == 3
            creating = asyncio.create_task(client.post(NEW_PODS, params={"count": 2}))
            async with client.get("/api/v1/pods", params={"watch": "true"}) as watch:
                added = [json.loads(await watch.content.readline()) for _ in range(2)]
                assert [event["type"] for event in added] == ["ADDED", "ADDED"]
                assert {event["object"]["status"]["phase"] for event in added} == {"Pending"}
                for event in added:
                    name = event["object"]["metadata"]["name"]
                    async with client.post(f"/api/v1/namespaces/default/pods/{name}/binding", data=b"") as bound:
                        assert bound.status == 201
                    confirmed = json.loads(await watch.content.readline())
                    assert (confirmed["type"], confirmed["object"]["metadata"]["name"]) == ("MODIFIED", name)
                    assert confirmed["object"]["spec"]["nodeName"]
                reply = await creating
                assert (await reply.json())["seconds"] > 0

    asyncio.run(steps())


def test_lists_are_streamed_on_request() -> None:
    async def steps() -> None:
        async with TestServer(StandIn(2, 501).application()) as server, ClientSession(server.make_url("/")) as client:
            params = {"watch": "true", "sendInitialEvents": "true"}
            async with client.get("/api/v1/pods", params=params) as watch:
                events = [json.loads(await watch.content.readline()) for _ in range(502)]
        assert {event["type"] for event in events[:-1]} == {"ADDED"}
        assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    asyncio.run(steps())


def test_other_kinds_are_empty() -> None:
    async def steps() -> None:
        async with TestServer(StandIn(1, 1).application()) as server, ClientSession(server.make_url("/")) as client:
            async with client.get("/apis/storage.k8s.io/v1/csinodes") as reply:
                assert (await reply.json())["items"] == []
            async with client.get("/version") as reply:
                assert (await reply.json())["minor"] == "36"
            async with client.post("/apis/events.k8s.io/v1/namespaces/default/events", data=b"{}") as reply:
                assert reply.status == 201

    asyncio.run(steps())
