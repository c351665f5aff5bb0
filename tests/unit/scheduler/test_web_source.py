"""The page of a running scheduler: its data between scheduling cycles, and the pages that need permission for pods."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.builders.engine_host import Host
from tests.builders.objects import node, pod
from tests.unit.serving.fakes import RIGHTS, TOKENS, FakeClient, review_rights, review_tokens

from stowplan.config.defaults import default_configuration
from stowplan.config.options import AccessOptions, ServingOptions
from stowplan.insight.insight import Insight
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.gauges import gauge_sources
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.metrics_observer import MetricsObserver
from stowplan.observe.registry import MetricRegistry
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.live_insight import LiveInsight, last_message
from stowplan.scheduler.web_source import PAGE_PREFIX, LiveOwner, add_page, live_source
from stowplan.serving import Clients, SecureServer
from stowplan.serving.pages import Page, PageRequest, Pages
from stowplan.web.access import CONTENT_SECURITY_POLICY


class Live:
    """A scheduler whose loop runs on a thread of its own."""

    def __init__(self, *items: Any, ready: bool = True) -> None:
        self.metrics = SchedulerMetrics(MetricRegistry())
        observer = MetricsObserver(self.metrics, time.time)
        self.host = Host(*items, observer=observer, check_invariants=False)
        self.metrics.gauges = gauge_sources(self.host.engine)
        self.host.schedule()
        engine = self.host.engine
        self.answers = Answers(engine, lambda: None)
        insight = Insight(engine, self.host.clock, last_message=last_message(engine), running=True)
        live = LiveInsight(insight, engine, self.answers, lambda: ready)
        owner = LiveOwner(self.answers, lambda: ready)
        self.source = live_source(engine, insight, owner, live, default_configuration(), self.metrics)
        self.pages = Pages()
        add_page(self.pages, self.source, with_ui=True)
        self.longest = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping:
            began = time.thread_time()
            self.answers.run_slice(busy=False)
            self.longest = max(self.longest, time.thread_time() - began)
            time.sleep(0.001)

    def stop(self) -> None:
        self._stopping = True
        self._thread.join()
        self.answers.close()

    def get(self, *paths: str) -> list[Page]:
        """The responses to requests on one event loop."""

        async def visit() -> list[Page]:
            found = []
            for path in paths:
                name, _, query = path.partition("?")
                handler = self.pages.find_async(PAGE_PREFIX + name)
                assert handler is not None, path
                wanted = {each.partition("=")[0]: [each.partition("=")[2]] for each in query.split("&") if each}
                found.append(await handler(PageRequest("GET", PAGE_PREFIX + name, wanted)))
            if (task := self.source._sampling) is not None:
                task.cancel()
            return found

        return asyncio.run(visit())

    def data(self, *paths: str) -> list[Any]:
        pages = self.get(*paths)
        assert [page.status for page in pages] == [200] * len(pages), pages
        return [json.loads(page.content) for page in pages]


@pytest.fixture
def live() -> Iterator[Live]:
    made = Live(node("a"), pod("small", requests={"cpu": 1}), pod("big", requests={"cpu": 9}))
    yield made
    made.stop()


def test_the_data_of_a_scheduler(live: Live) -> None:
    hello, map_, pending, explained, fit, points, queue, history, shown = live.data(
        "hello",
        "map",
        "pending",
        "explain/default/big",
        "fit/default/big",
        "points/default/small",
        "queue",
        "history",
        "node/a",
    )
    assert (hello["kind"], hello["nodes"], hello["pods"], hello["pending"]) == ("scheduler", 1, 1, 1)
    assert map_["nodes"]["requested"]["cpu"] == [1000]
    assert pending["groups"][0]["sample"] == ["default/big"]
    assert explained["asOf"]["source"] == "scheduler"
    assert fit["steps"][-1]["plugin"] == "NodeResourcesFit"
    assert points["node"] == 0
    assert queue["counts"]["unschedulable"] == 1
    assert history["queues"]["unschedulable"][-1] == 1
    assert history["use"]["cpu"][-1] == 0.25
    assert [each["pod"] for each in shown["pods"]] == ["default/small"]


def test_a_replica_that_does_not_lead_names_the_leader(live: Live) -> None:
    assert live.data("hello")[0]["leader"] == ""
    live.source.other_leader = lambda: "machine-2_f3a1"
    assert live.data("hello")[0]["leader"] == "machine-2_f3a1"


def test_unknown_pods_and_nodes_are_not_found(live: Live) -> None:
    pages = live.get("explain/default/x", "fit/default/x", "points/default/x", "node/x", "workload/default/Job/x")
    assert [page.status for page in pages] == [404] * 5


def test_nothing_is_answered_before_the_caches_are_synced() -> None:
    live = Live(node("a"), ready=False)
    try:
        assert {page.status for page in live.get("hello", "map", "pending", "explain/default/p")} == {503}
        events = f"{PAGE_PREFIX}events"
        with secure(live, {"list pods", f"get {events}"}) as visit:
            assert visit(events).status == 503
    finally:
        live.stop()


def test_nothing_is_computed_until_a_client_looks(live: Live) -> None:
    time.sleep(0.05)
    assert live.source.mirror.revision == 0
    assert live.source._sampling is None
    assert not live.answers.waiting


def test_all_pages_need_permission_for_pods(live: Live) -> None:
    for path in (f"{PAGE_PREFIX}map", f"{PAGE_PREFIX}events", "/ui/", "/ui/static/app.js"):
        assert live.pages.requires_pods(path)
    assert not live.pages.requires_pods("/insight/v1/pending")


def test_the_page_at_ui_reads_its_data_below_insight(live: Live) -> None:
    page = live.pages.answer(PageRequest("GET", "/ui/"))
    assert page.status == 200
    assert f'data-api="..{PAGE_PREFIX}"'.encode() in page.content
    assert live.pages.answer(PageRequest("GET", "/ui/static/app.js")).status == 200
    assert live.pages.answer(PageRequest("GET", "/ui/static/../wire.py")).status == 404


DATA = tuple(
    f"{PAGE_PREFIX}{path}"
    for path in (
        "hello",
        "map",
        "pods",
        "pending",
        "queue",
        "config",
        "node/a",
        "explain/default/big",
        "fit/default/big",
    )
)
UI = ("/ui/", "/ui/static/app.js")


@contextmanager
def secure_port(live: Live, rights: set[str]) -> Iterator[int]:
    """A scheduler's secure port, on which bob (token t) has these rights."""
    client = FakeClient({TOKENS: review_tokens({"t": "bob"}), RIGHTS: review_rights({"bob": rights})})
    serving = ServingOptions(address="127.0.0.1", port=0)
    access = AccessOptions(skip_lookup=True)
    metrics = AccessMetrics(MetricRegistry())
    server = SecureServer(serving, access, live.pages, metrics, lambda: Clients(client, client))
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


@contextmanager
def secure(live: Live, rights: set[str]) -> Iterator[Callable[..., http.client.HTTPResponse]]:
    """Requests to the secure port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connections = []
    with secure_port(live, rights) as port:

        def visit(path: str, token: str = "t") -> http.client.HTTPResponse:
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
            connections.append(connection)
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse()

        try:
            yield visit
        finally:
            for connection in connections:
                connection.close()


@pytest.mark.parametrize("missing", ["everything", "path", "pods"])
def test_a_viewer_without_rights_sees_403_only(live: Live, missing: str) -> None:
    events = f"{PAGE_PREFIX}events"
    paths = (*DATA, *UI, events)
    rights = {
        "everything": set(),
        "path": {"list pods"},
        "pods": {f"get {path}" for path in paths},
    }[missing]
    with secure(live, rights) as visit:
        for path in paths:
            assert visit(path).status == 403
            assert visit(path, "wrong").status == 401
            assert visit(path, "").status == 403
    assert live.source.mirror.revision == 0  # Nothing was even computed.


def test_a_viewer_with_rights_sees_the_page(live: Live) -> None:
    events = f"{PAGE_PREFIX}events"
    with secure(live, {"list pods", *(f"get {path}" for path in (*DATA, *UI, events))}) as visit:
        for path in (*DATA, *UI):
            reply = visit(path)
            assert reply.status == 200, path
            assert reply.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        stream = visit(f"{events}?since=other-1")
        assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream")
        while not (line := stream.readline()).startswith(b"event: "):
            assert line
        assert line == b"event: reset\n"
        assert visit(f"{PAGE_PREFIX}what-if").status == 403
