import json
from collections.abc import Iterator

import pytest

from stowplan import logs
from stowplan.observe.health import HealthCheck, HealthMetrics, HealthPage
from stowplan.observe.registry import STABLE, MetricRegistry
from stowplan.serving.component_pages import ComponentPages, Sources
from stowplan.serving.pages import Page, PageRequest

SYNC = HealthCheck("sched-handler-sync", lambda: "handlers are not fully synchronized")


def sources(**changes: object) -> Sources:
    health = HealthMetrics()
    registry = MetricRegistry()
    registry.counter("x_total", STABLE, "X.").series().add(3)
    pages = (HealthPage("healthz", (), health.on_check), HealthPage("readyz", (SYNC,), health.on_check))
    made = Sources(registry, health, pages, {"kind": "KubeSchedulerConfiguration"}, {"v": "2", "config": ""})
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def get(path: str, method: str = "GET", body: bytes = b"", accept: str = "", **query: list[str]) -> Page:
    return ComponentPages(sources()).answer(PageRequest(method, path, query, accept, body))


@pytest.fixture
def quiet_again() -> Iterator[None]:
    yield
    logs.set_verbosity(0)


@pytest.mark.parametrize(
    ("path", "query", "status", "text"),
    [
        ("/healthz", {}, 200, "ok"),
        ("/healthz", {"verbose": [""]}, 200, "[+]ping ok\nhealthz check passed\n"),
        ("/healthz/ping", {}, 200, "ok"),
        ("/readyz", {}, 500, "[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"),
        ("/readyz", {"exclude": ["sched-handler-sync"]}, 200, "ok"),
        ("/readyz/sched-handler-sync", {}, 500, "internal server error: handlers are not fully synchronized\n"),
        ("/readyz/other", {}, 404, "404 page not found\n"),
        ("/", {}, 404, "404 page not found\n"),
    ],
)
def test_health(path: str, query: dict[str, list[str]], status: int, text: str) -> None:
    page = get(path, **query)
    assert (page.status, page.content.decode()) == (status, text)


def test_metrics() -> None:
    page = get("/metrics")
    assert b"x_total 3\n" in page.content
    assert page.content_type.startswith("text/plain; version=0.0.4")
    assert page.headers["Process-Start-Time-Unix"].isdecimal()


def test_metrics_can_be_reset() -> None:
    pages = ComponentPages(sources())
    assert pages.answer(PageRequest("DELETE", "/metrics")).content == b"metrics reset\n"
    assert b"x_total 0\n" in pages.answer(PageRequest("GET", "/metrics")).content


def test_metrics_of_health_are_apart() -> None:
    pages = ComponentPages(sources())
    pages.answer(PageRequest("GET", "/healthz"))
    text = pages.answer(PageRequest("GET", "/metrics/slis")).content
    assert b'kubernetes_healthcheck{name="ping",type="healthz"} 1\n' in text
    assert b"x_total" not in text


def test_metrics_of_pods() -> None:
    page = ComponentPages(sources(resources=lambda: b"kube_pod_resource_request 1\n")).answer(
        PageRequest("GET", "/metrics/resources")
    )
    assert page.content == b"kube_pod_resource_request 1\n"


def test_configuration() -> None:
    page = get("/configz")
    assert json.loads(page.content) == {"componentconfig": {"kind": "KubeSchedulerConfiguration"}}
    assert page.content_type == "application/json"


def test_status_for_people() -> None:
    lines = get("/statusz").content.decode().splitlines()
    assert lines[1] == "kube-scheduler statusz"
    assert lines[2].startswith("Warning: This endpoint is not meant to be machine parseable")
    assert [line.partition(":")[0] for line in lines[4:]] == [
        "Started",
        "Up",
        "Go version",
        "Binary version",
        "Emulation version",
        "Paths",
    ]


def test_status_for_programs() -> None:
    page = get("/statusz", accept="application/json;v=v1beta1;g=config.k8s.io;as=Statusz")
    told = json.loads(page.content)
    assert (told["kind"], told["apiVersion"], told["binaryVersion"]) == ("Statusz", "config.k8s.io/v1beta1", "1.36.4")
    assert page.content_type == "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"


def test_flags() -> None:
    assert get("/flagz").content.decode().endswith("debugging purposes only.\nconfig=\nv=2\n")


def test_forms_that_there_are_not() -> None:
    page = get("/flagz", accept="image/png")
    assert (page.status, json.loads(page.content)["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(("gate", "path"), [("ComponentStatusz", "/statusz"), ("ComponentFlagz", "/flagz")])
def test_pages_behind_gates(gate: str, path: str) -> None:
    assert ComponentPages(sources(gates={gate: False})).answer(PageRequest("GET", path)).status == 404


@pytest.mark.usefixtures("quiet_again")
def test_the_verbosity_can_be_changed() -> None:
    page = get("/debug/flags/v", "PUT", b"4\n")
    assert (page.status, page.content) == (200, b"successfully set klog.logging.verbosity to 4\n")
    assert logs.get("anything").verbosity == 4


@pytest.mark.parametrize(("method", "body", "status"), [("GET", b"", 406), ("PUT", b"x", 400), ("PUT", b"-1", 400)])
def test_the_verbosity_is_a_number(method: str, body: bytes, status: int) -> None:
    assert get("/debug/flags/v", method, body).status == status


def test_the_verbosity_is_nobodys_business_without_profiling() -> None:
    assert (
        ComponentPages(sources(profiling=False)).answer(PageRequest("PUT", "/debug/flags/v", body=b"4")).status == 404
    )
