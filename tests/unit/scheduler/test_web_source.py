"""The page of a running scheduler: its data between scheduling cycles, and the pages that need permission for pods."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.builders.engine_host import Host
from tests.builders.objects import node, pod

from stowplan.config.defaults import default_configuration
from stowplan.insight.insight import Insight
from stowplan.observe.gauges import readings_of
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.metrics_observer import MetricsObserver
from stowplan.observe.registry import MetricRegistry
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.live_insight import LiveInsight, last_message
from stowplan.scheduler.web_source import PAGE_PREFIX, LiveOwner, add_page, live_source
from stowplan.serving.pages import Page, PageRequest, Pages


class Live:
    """A scheduler whose loop runs on a thread of its own."""

    def __init__(self, *items: Any, ready: bool = True) -> None:
        self.metrics = SchedulerMetrics(MetricRegistry())
        observer = MetricsObserver(self.metrics, time.time)
        self.host = Host(*items, observer=observer, check_invariants=False)
        self.metrics.readings = readings_of(self.host.engine)
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
