from __future__ import annotations

import json
import ssl
import urllib.request
from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import NOW, Host

from stowplan.config.defaults import default_configuration
from stowplan.config.flags.parsing import parse
from stowplan.config.options import ServingOptions
from stowplan.engine import Engine
from stowplan.insight.insight import Insight
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.live_insight import LiveInsight
from stowplan.scheduler.monitoring import Monitor
from stowplan.scheduler.web_source import LiveOwner, live_source
from stowplan.serving import ComponentPages, secure_server
from stowplan.serving.listening import listen
from stowplan.serving.pages import PageRequest
from stowplan.web.source import StateSource

PATHS = "--authorization-always-allow-paths=/*"


class Subject:
    """A scheduler that does as it is told."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.ready = False
        self.leads = True
        self.problem: str | None = None
        self.answers = Answers(engine, lambda: None)
        self.insight = LiveInsight(Insight(engine, lambda: NOW), engine, self.answers, lambda: self.ready)

    def page_source(self, metrics: SchedulerMetrics) -> StateSource:
        owner = LiveOwner(self.answers, lambda: self.ready)
        config = default_configuration()
        return live_source(self.engine, Insight(self.engine, lambda: NOW), owner, self.insight, config, metrics)

    def is_leader(self) -> bool:
        return self.leads

    def lease_problem(self) -> str | None:
        return self.problem


class Watched:
    def __init__(self, *flags: str) -> None:
        options = parse(["--bind-address=127.0.0.1", "--secure-port=39999", PATHS, *flags], env={})
        self.monitor = Monitor(options, "api:6443", lambda: NOW)
        self.host = Host(node("n1"), pod("p", requests={"cpu": 1}), observer=self.monitor.observer)
        self.subject = Subject(self.host.engine)
        self.monitor.watch(self.subject)

    def answer(self, path: str) -> str:
        """What the pages would say, without a server."""
        return ComponentPages(self.monitor._sources()).answer(PageRequest("GET", path)).content.decode()


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_ready_once_the_cluster_is_known(watched: Watched) -> None:
    assert "[-]sched-handler-sync failed" in watched.answer("/readyz")
    watched.subject.ready = True
    assert watched.answer("/readyz") == "ok"


def test_alive_from_the_start(watched: Watched) -> None:
    assert (watched.answer("/healthz"), watched.answer("/livez")) == ("ok", "ok")


def test_unready_when_about_to_end(watched: Watched) -> None:
    watched.subject.ready = True
    watched.monitor.ending = True
    assert "[-]shutdown failed" in watched.answer("/readyz")
    assert watched.answer("/healthz") == "ok"


def test_a_lease_that_is_not_renewed(watched: Watched) -> None:
    watched.subject.problem = "failed election to renew leadership on lease"
    assert "[-]leaderElection failed" in watched.answer("/healthz")
    assert watched.answer("/livez") == "ok"


def test_no_election_no_check() -> None:
    watched = Watched("--leader-elect=false")
    watched.subject.problem = "nobody asks"
    assert watched.answer("/healthz") == "ok"
    assert "leader_election_master_status" not in watched.answer("/metrics")


def test_metrics_of_an_engine_at_work(watched: Watched) -> None:
    watched.host.schedule()
    text = watched.answer("/metrics")
    assert 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1\n' in text
    assert 'scheduler_cache_size{type="pods"} 1\n' in text
    assert 'leader_election_master_status{name="kube-scheduler"} 1\n' in text


def test_only_the_leader_tells_of_pods(watched: Watched) -> None:
    watched.host.put(pod("waiting", requests={"cpu": 100}))
    assert watched.answer("/metrics/resources").count("kube_pod_resource_request{") == 2
    watched.subject.leads = False
    assert watched.answer("/metrics/resources") == ""


def test_what_it_was_started_with() -> None:
    watched = Watched("--leader-elect-resource-name=mine", "--disabled-metrics=scheduler_cache_size")
    configuration = json.loads(watched.answer("/configz"))["componentconfig"]
    assert configuration["leaderElection"]["resourceName"] == "mine"
    assert "leader-elect-resource-name=mine\n" in watched.answer("/flagz")
    assert "scheduler_cache_size" not in watched.answer("/metrics")


def test_serving(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(secure_server, "listen", lambda options: listen(ServingOptions(address="127.0.0.1", port=0)))
    watched.monitor.start()
    try:
        assert watched.monitor._server is not None
        url = f"https://127.0.0.1:{watched.monitor._server.port}/metrics"
        context: Any = ssl._create_unverified_context()
        with urllib.request.urlopen(url, context=context, timeout=60) as reply:
            assert b"scheduler_pending_pods" in reply.read()
    finally:
        watched.monitor.stop()


def test_port_zero_means_no_server() -> None:
    watched = Watched("--secure-port=0")
    watched.monitor.start()
    watched.monitor.stop()
    assert watched.monitor._server is None
