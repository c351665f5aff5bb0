"""Pages that explain decisions."""

import asyncio
import json
from concurrent.futures import Future
from typing import Any

import pytest

from stowplan.errors import StowplanError
from stowplan.insight.finding import NodeNotFoundError, PodNotFoundError
from stowplan.insight.insight import TooLargeError
from stowplan.insight.workloads import WorkloadReference
from stowplan.serving import insight_pages
from stowplan.serving.insight_pages import NotReadyError, TooManyQuestionsError, add_insight_pages
from stowplan.serving.pages import Page, PageRequest, Pages


class FakeSource:
    """Answers with the names in the question, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def explain(self, namespace: str, pod: str, top: int, profile: str = "") -> Future[Any]:
        return self._answer({"namespace": namespace, "pod": pod, "top": top, **({"as": profile} if profile else {})})

    def why_not(self, namespace: str, pod: str, node: str, profile: str = "") -> Future[Any]:
        return self._answer({"namespace": namespace, "pod": pod, "node": node, **({"as": profile} if profile else {})})

    def workload(self, reference: WorkloadReference, top: int) -> Future[Any]:
        return self._answer({"namespace": reference.namespace, "workload": str(reference.workload), "top": top})

    def pending(self, namespace: str) -> Future[Any]:
        return self._answer({"namespace": namespace})

    def _answer(self, value: Any) -> Future[Any]:
        if isinstance(self.error, TooManyQuestionsError | NotReadyError):
            raise self.error
        future: Future[Any] = Future()
        if self.error is not None:
            future.set_exception(self.error)
        elif value:
            future.set_result(value)
        return future


def get(path: str, method: str = "GET", error: Exception | None = None, **query: list[str]) -> Page:
    pages = Pages()
    add_insight_pages(pages, FakeSource(error))
    handler = pages.find_async(path)
    if handler is None:
        return pages.not_found(PageRequest(method, path))
    coroutine: Any = handler(PageRequest(method, path, query))
    page: Page = asyncio.run(coroutine)
    return page


@pytest.mark.parametrize(
    ("path", "query", "answer"),
    [
        ("/insight/v1/explain/shop/web-0", {}, {"namespace": "shop", "pod": "web-0", "top": 5}),
        ("/insight/v1/explain/shop/web%2D0", {"nodes": ["7"]}, {"namespace": "shop", "pod": "web-0", "top": 7}),
        ("/insight/v1/why-not/shop/web-0/n.1", {}, {"namespace": "shop", "pod": "web-0", "node": "n.1"}),
        ("/insight/v1/explain/shop/a", {"profile": ["b"]}, {"namespace": "shop", "pod": "a", "top": 5, "as": "b"}),
        ("/insight/v1/why-not/shop/a/n", {"profile": ["b"]}, {"namespace": "shop", "pod": "a", "node": "n", "as": "b"}),
        (
            "/insight/v1/workload/shop/Deployment/web",
            {"nodes": ["3"]},
            {"namespace": "shop", "workload": "Deployment/web", "top": 3},
        ),
        ("/insight/v1/pending", {}, {"namespace": ""}),
        ("/insight/v1/pending", {"namespace": ["shop"]}, {"namespace": "shop"}),
    ],
)
def test_answers(path: str, query: dict[str, list[str]], answer: dict[str, Any]) -> None:
    page = get(path, **query)
    assert (page.status, page.content_type) == (200, "application/json")
    assert json.loads(page.content) == answer


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/insight/v1/explain/shop", {}, 400),
        ("/insight/v1/explain/shop/", {}, 400),
        ("/insight/v1/explain/shop/a/b", {}, 400),
        ("/insight/v1/explain/shop/a", {"nodes": ["-1"]}, 400),
        ("/insight/v1/explain/shop/a", {"nodes": ["1000"]}, 400),
        ("/insight/v1/why-not/shop/a", {}, 400),
        ("/insight/v1/workload/shop/web", {}, 400),
        ("/insight/v1/workload/shop/Deployment/web", {"nodes": ["x"]}, 400),
        ("/insight/v1/other", {}, 404),
        ("/insight/v1/pending/x", {}, 404),
    ],
)
def test_wrong_paths(path: str, query: dict[str, list[str]], status: int) -> None:
    assert get(path, **query).status == status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TooManyQuestionsError("16 questions are waiting"), 503),
        (NotReadyError("not synced"), 503),
        (PodNotFoundError("pod a/b is not known"), 404),
        (NodeNotFoundError("node n is not known"), 404),
        (TooLargeError("too large"), 422),
        (StowplanError("oops"), 500),
    ],
)
def test_errors_are_statuses(error: Exception, status: int) -> None:
    page = get("/insight/v1/explain/shop/web-0", error=error)
    assert page.status == status
    assert json.loads(page.content)["message"] == str(error)
    assert ("Retry-After" in page.headers) == (status == 503)


def test_other_methods_are_not_allowed() -> None:
    assert get("/insight/v1/pending", "POST").status == 405


def test_an_answer_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_pages, "ANSWER_TIMEOUT_SECONDS", 0.01)
    futures: list[Future[Any]] = []

    class Silent(FakeSource):
        def pending(self, namespace: str) -> Future[Any]:
            futures.append(Future())
            return futures[0]

    pages = Pages()
    add_insight_pages(pages, Silent())
    handler = pages.find_async("/insight/v1/pending")
    assert handler is not None
    coroutine: Any = handler(PageRequest("GET", "/insight/v1/pending"))
    assert asyncio.run(coroutine).status == 503
    assert futures[0].cancelled()
