import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from tests.unit.cluster.serving import Handler, serving

from stowplan import api
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.snapshot import Snapshot, take_snapshot

KINDS = [api.KINDS[name] for name in ("Node", "Pod", "Deployment")]


def page(*names: str, continue_: str = "") -> web.Response:
    items = [{"metadata": {"name": name}, "extra": name} for name in names]
    return web.json_response({"metadata": {"resourceVersion": "5", "continue": continue_}, "items": items})


def refusal(status: int, reason: str, message: str = "made\nup") -> web.Response:
    return web.json_response({"kind": "Status", "reason": reason, "message": message, "code": status}, status=status)


def run(handler: Handler, **options: Any) -> Snapshot:
    async def take() -> Snapshot:
        async with serving(handler) as client:
            return await asyncio.to_thread(take_snapshot, client.connection, KINDS, **options)

    return asyncio.run(take())


def names(snapshot: Snapshot) -> list[str]:
    return [f"{type(item).__name__} {item.metadata.name}" for item, _ in snapshot.items]


def test_all_pages_of_all_kinds_by_get_alone() -> None:
    requests: list[tuple[str, str, dict[str, str]]] = []

    async def handler(request: web.Request) -> web.Response:
        requests.append((request.method, request.path, dict(request.query)))
        if request.path != "/api/v1/pods":
            return page("ant")
        return page("b") if "continue" in request.query else page("a", continue_="more")

    counts: list[int] = []
    snapshot = run(handler, on_progress=counts.append)
    assert names(snapshot) == ["Node ant", "Pod a", "Pod b", "Deployment ant"]
    assert counts == [1, 2, 3, 4]
    assert {method for method, _, _ in requests} == {"GET"}
    assert [path for _, path, _ in requests] == [
        "/api/v1/nodes",
        "/api/v1/pods",
        "/api/v1/pods",
        "/apis/apps/v1/deployments",
    ]
    assert [query.get("fieldSelector") for _, _, query in requests][:2] == [
        None,
        "status.phase!=Succeeded,status.phase!=Failed",
    ]


def test_a_list_that_starts_anew_is_not_taken_twice() -> None:
    async def handler(request: web.Request) -> web.Response:
        if "continue" in request.query:
            return refusal(410, "Expired")
        return page("a", continue_="more") if "limit" in request.query else page("a", "b")

    assert names(run(handler))[:2] == ["Node a", "Node b"]
    assert len(run(handler).items) == 6


@pytest.mark.parametrize("keep_objects", [True, False])
def test_whole_objects_are_kept_where_wanted(keep_objects: bool) -> None:
    async def handler(request: web.Request) -> web.Response:
        return page("a")

    ((_, whole), *_) = run(handler, keep_objects=keep_objects).items
    assert whole == ({"metadata": {"name": "a"}, "extra": "a"} if keep_objects else None)


@pytest.mark.parametrize(("status", "field"), [(404, "missing"), (403, "forbidden")])
def test_kinds_that_cannot_be_had_are_left_out(status: int, field: str) -> None:
    async def handler(request: web.Request) -> web.Response:
        return refusal(status, "") if "deployments" in request.path else page("a")

    snapshot = run(handler, required=("Node", "Pod"))
    assert names(snapshot) == ["Node a", "Pod a"]
    assert [kind.name for kind in getattr(snapshot, field)] == ["Deployment"]
    assert len(snapshot.missing) + len(snapshot.forbidden) == 1


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            refusal(403, "Forbidden"),
            "nodes cannot be read, and they are required: Forbidden (403): made up",
        ),
        (
            refusal(404, "NotFound"),
            "nodes cannot be read, and they are required: NotFound (404): made up",
        ),
        (refusal(500, "InternalError"), "nodes cannot be read: InternalError (500): made up"),
        (refusal(401, "Unauthorized"), "the server refuses the credentials: Unauthorized (401): made up"),
        (web.Response(text="<html>"), "malformed list of nodes: "),
        (web.Response(text=json.dumps({"items": []})), "malformed list of nodes: it has no resourceVersion"),
    ],
)
def test_what_prevents_reading_is_told_in_a_line(reply: web.Response, told: str) -> None:
    status, body = reply.status, reply.text

    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    with pytest.raises(ClusterError) as caught:
        run(handler, required=("Node",))
    (line,) = str(caught.value).splitlines()
    address, _, problem = line.partition(": ")
    assert address.startswith("http://127.0.0.1:")
    assert problem.startswith(told)
