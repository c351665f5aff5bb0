import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from tests.unit.cluster.proto_json import read_body
from tests.unit.cluster.serving import serving

from stowplan.extender.reservations import PodWriter, pod_writer
from stowplan.framework import Status, Write


class PodName(NamedTuple):
    name: str
    namespace: str
    uid: str


POD = PodName("web", "shop", "u1")
BINDING = "/api/v1/namespaces/shop/pods/web/binding"
PATH = "/api/v1/namespaces/shop/pods/web"


class Server:
    """Replies to bindings with these statuses, one after the other; the pod is where `node` says."""

    def __init__(self, *statuses: int, node: str = "", uid: str = "u1", patch: int = 200) -> None:
        self.statuses = list(statuses)
        self.node = node
        self.uid = uid
        self.patch = patch
        self.asked: list[tuple[str, str, Any]] = []

    async def reply(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.method, request.path, read_body(body, request.content_type) if body else None))
        if request.method == "GET":
            return web.json_response({"metadata": {"uid": self.uid}, "spec": {"nodeName": self.node}})
        status = self.patch if request.method == "PATCH" else self.statuses.pop(0)
        refusal = {"kind": "Status", "code": status, "message": f"refused with {status}"}
        return web.json_response({} if status < 300 else refusal, status=status)

    def run(self, action: Callable[[PodWriter], Awaitable[Status | None]]) -> str:
        async def run() -> str:
            async with serving(self.reply) as client:
                writer = PodWriter(client.connection)
                try:
                    status = await action(writer)
                finally:
                    await writer.close()
            return "" if status is None else status.message

        return asyncio.run(run())


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.extender.reservations.pod_writer._RETRY_SECONDS", 0.0)


def test_a_binding_is_for_that_uid_alone() -> None:
    server = Server(201)
    assert server.run(lambda writer: writer.bind(POD, "n1")) == ""
    ((method, path, body),) = server.asked
    assert (method, path) == ("POST", BINDING)
    assert body["metadata"] == {"name": "web", "namespace": "shop", "uid": "u1"}
    assert body["target"] == {"kind": "Node", "name": "n1"}


@pytest.mark.parametrize(
    ("statuses", "node", "uid", "outcome"),
    [
        ((409,), "n1", "u1", ""),
        ((409,), "n2", "u1", "binding pod shop/web to n1: refused with 409"),
        ((409,), "n1", "other", "binding pod shop/web to n1: refused with 409"),
        ((409,), "", "u1", "binding pod shop/web to n1: refused with 409"),
        ((404,), "", "u1", "binding pod shop/web to n1: refused with 404"),
        ((403,), "n1", "u1", "binding pod shop/web to n1: refused with 403"),
        ((500, 201), "", "u1", ""),
        ((500,), "n1", "u1", ""),
        ((500, 500, 503), "", "u1", "binding pod shop/web to n1: refused with 503"),
    ],
)
def test_what_becomes_of_a_binding(statuses: tuple[int, ...], node: str, uid: str, outcome: str) -> None:
    server = Server(*statuses, node=node, uid=uid)
    assert server.run(lambda writer: writer.bind(POD, "n1")) == outcome
    assert server.statuses == []


def test_annotations_come_before_the_binding() -> None:
    server = Server(201)
    assert server.run(lambda writer: writer.bind(POD, "n1", {"gpu": "3"})) == ""
    assert [(method, path) for method, path, _ in server.asked] == [("PATCH", PATH), ("POST", BINDING)]
    assert server.asked[0][2] == {"metadata": {"uid": "u1", "annotations": {"gpu": "3"}}}


def test_annotations_go_when_the_pod_is_not_bound() -> None:
    server = Server(409, node="n2")
    assert server.run(lambda writer: writer.bind(POD, "n1", {"gpu": "3"})) != ""
    assert server.asked[-1] == ("PATCH", PATH, {"metadata": {"uid": "u1", "annotations": {"gpu": None}}})


def test_without_annotations_there_is_no_binding() -> None:
    server = Server(201, patch=403)
    assert server.run(lambda writer: writer.bind(POD, "n1", {"gpu": "3"})) == (
        "annotating pod shop/web: Forbidden (403): refused with 403"
    )
    assert server.statuses == [201]


@pytest.mark.parametrize(
    ("pod", "node", "odd"),
    [
        (POD._replace(name="web/../../../x?y=#"), "n1", "web/../../../x?y=#"),
        (POD._replace(namespace=".."), "n1", ".."),
        (POD._replace(namespace=""), "n1", ""),
        (POD._replace(uid='u","x":"'), "n1", 'u","x":"'),
        (POD, 'n1"},"x":{"y":"z', 'n1"},"x":{"y":"z'),
        (POD, "n1\n", "n1\n"),
    ],
)
def test_names_lead_nowhere_else(pod: PodName, node: str, odd: str) -> None:
    server = Server(201)
    assert server.run(lambda writer: writer.bind(pod, node, {"gpu": "3"})).endswith(f": not a name: {odd!r}")
    if pod is not POD:
        assert server.run(lambda writer: writer.annotate(pod, {"gpu": "3"})).endswith(f": not a name: {odd!r}")
        assert server.run(lambda writer: writer.record_event(pod, "A", "b")).endswith(f": not a name: {odd!r}")
    assert server.asked == []


def test_an_event_is_written_once() -> None:
    server = Server(201, 201, 403)

    async def record(writer: PodWriter) -> Status | None:
        for note in ("none is left", "none is left", "one is left"):
            assert await writer.record_event(POD, "LicencesGone", note, warning=True) is None
        return await writer.record_event(POD, "Waiting", "for one")

    assert server.run(record) == "recording an event of pod shop/web: Forbidden (403): refused with 403"
    (method, path, first), (_, _, second), (_, _, third) = server.asked
    assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/shop/events")
    assert (first["note"], second["note"]) == ("none is left", "one is left")
    assert (first["type"], third["type"]) == ("Warning", "Normal")
    assert (first["reason"], first["regarding"]["name"], first["regarding"]["uid"]) == ("LicencesGone", "web", "u1")
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_what_was_said_long_ago_is_news_again() -> None:
    now = 0.0
    recent = pod_writer._RecentEvents(lambda: now)
    assert [recent.is_new("a"), recent.is_new("a"), recent.is_new("b")] == [True, False, True]
    now = 601.0
    assert [recent.is_new("a"), recent.is_new("a")] == [True, False]
    for number in range(5000):
        recent.is_new(number)
    assert len(recent._recorded_at) == 4096


def test_without_a_cluster() -> None:
    assert asyncio.run(PodWriter(None).record_event(POD, "Waiting", "for one")) is None
    assert asyncio.run(PodWriter(None).annotate(POD, {"gpu": "3"})) is None
    status = asyncio.run(PodWriter(None).bind(POD, "n1", {"gpu": "3"}))
    assert status is not None
    assert "there is no cluster to write to; name one by --kubeconfig" in status.message


def test_in_a_simulation() -> None:
    started: list[Any] = []
    handle = SimpleNamespace(connection=None, start=started.append)
    assert asyncio.run(PodWriter(handle).annotate(POD, {"gpu": "3", "old": None})) is None
    (request,) = (steps.send(None) for steps in started)
    assert isinstance(request, Write)
    assert (request.verb, request.kind, request.item.metadata.name) == ("patch", "Pod", POD.name)
    assert request.changes == {"metadata": {"annotations": {"gpu": "3", "old": None}}}
    started[0].close()
