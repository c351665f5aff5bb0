import json

from tests.unit.extender.server.test_decisions import exchange

from stowplan.extender.server.decisions import DecisionLog
from stowplan.extender.server.pages import OperatorPages
from stowplan.observe.health import PING, HealthCheck
from stowplan.observe.registry import MetricRegistry
from stowplan.serving.pages import PageRequest


def make(problem: str | None = None) -> OperatorPages:
    decisions = DecisionLog()
    decisions.note(exchange("filter", "a"))
    decisions.note(exchange("bind", "b"))
    return OperatorPages(MetricRegistry(), decisions, live=[PING], ready=[HealthCheck("cache-sync", lambda: problem)])


def read(pages: OperatorPages, path: str, **query: str) -> tuple[int, str]:
    page = pages.answer(PageRequest("GET", path, {name: [value] for name, value in query.items()}))
    return page.status, page.content.decode()


def test_health() -> None:
    assert read(make(), "/healthz") == (200, "ok")
    assert read(make(), "/livez/") == (200, "ok")
    assert read(make(), "/readyz") == (200, "ok")
    assert read(make("waiting"), "/healthz")[0] == 200
    status, text = read(make("nodes are not listed yet"), "/readyz")
    assert status == 503
    assert "[-]cache-sync failed" in text
    assert text.endswith("cache-sync: nodes are not listed yet\n")
    assert "[+]cache-sync ok" in read(make(), "/readyz", verbose="")[1]


def test_version_and_metrics() -> None:
    assert set(json.loads(read(make(), "/version")[1])) == {"stowplan", "kubernetes"}
    assert read(make(), "/metrics")[0] == 200


def test_decisions() -> None:
    def verbs(path: str, **query: str) -> list[str]:
        return [entry["verb"] for entry in json.loads(read(make(), path, **query)[1])]

    assert verbs("/debug/decisions") == ["bind", "filter"]
    assert verbs("/debug/decisions", limit="1") == ["bind"]
    assert verbs("/debug/decisions", uid="a") == ["filter"]
    assert verbs("/debug/decisions/a") == ["filter"]
    assert verbs("/debug/decisions", pod="d/b") == ["bind"]
    assert verbs("/debug/decisions/d/b") == ["bind"]
    assert read(make(), "/debug/decisions/c") == (404, "no decision about c is remembered\n")


def test_no_such_page() -> None:
    status, text = read(make(), "/nope")
    assert status == 404
    assert text.startswith("there is no /nope; there are /debug/decisions, /healthz, ")
    assert "/readyz" in text


def test_a_limit_of_any_length_is_taken() -> None:
    assert read(make(), "/debug/decisions", limit="9" * 5000)[0] == 200
