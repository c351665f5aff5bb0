"""Pages that explain decisions: /insight/v1/explain, why-not, workload and pending.

The scheduling loop computes the answers, so a page waits for it without blocking a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol
from urllib.parse import unquote

from stowplan.api import codec
from stowplan.errors import StowplanError
from stowplan.insight.finding import NodeNotFoundError, PodNotFoundError
from stowplan.insight.insight import TooLargeError
from stowplan.insight.workloads import WorkloadName, WorkloadReference
from stowplan.serving.pages import JSON, NO_SNIFFING, Page, PageRequest, Pages, status_page

INSIGHT_PREFIX = "/insight/v1/"
ANSWER_TIMEOUT_SECONDS = 30.0
_DEFAULT_TOP = 5
MAX_TOP = 100
_BAD_TOP = f"nodes: a number up to {MAX_TOP} is expected"
_RETRY = {**NO_SNIFFING, "Retry-After": "1"}


class TooManyQuestionsError(StowplanError):
    """The queue of questions is full."""


class NotReadyError(StowplanError):
    """The caches are not synced yet, or the scheduler stops."""


class InsightSource(Protocol):
    """Answers as structs. The methods return at once; they raise TooManyQuestionsError or NotReadyError."""

    def explain(self, namespace: str, pod: str, top: int, profile: str = "") -> Future[Any]: ...

    def why_not(self, namespace: str, pod: str, node: str, profile: str = "") -> Future[Any]: ...

    def workload(self, reference: WorkloadReference, top: int) -> Future[Any]: ...

    def pending(self, namespace: str) -> Future[Any]: ...


def add_insight_pages(pages: Pages, source: InsightSource) -> None:
    """Serves the answers of a source."""

    async def explain(request: PageRequest) -> Page:
        names = _names(request.path)
        if len(names) != 3 or not all(names):
            return _bad("the path is /insight/v1/explain/NAMESPACE/POD")
        top, profile = _top(request), _value(request, "profile")
        if top is None:
            return _bad(_BAD_TOP)
        return await _answered(request, lambda: source.explain(names[1], names[2], top, profile))

    async def why_not(request: PageRequest) -> Page:
        names = _names(request.path)
        if len(names) != 4 or not all(names):
            return _bad("the path is /insight/v1/why-not/NAMESPACE/POD/NODE")
        profile = _value(request, "profile")
        return await _answered(request, lambda: source.why_not(names[1], names[2], names[3], profile))

    async def workload(request: PageRequest) -> Page:
        names = _names(request.path)
        if len(names) != 4 or not all(names):
            return _bad("the path is /insight/v1/workload/NAMESPACE/KIND/NAME")
        top, reference = _top(request), WorkloadReference(names[1], WorkloadName(names[2], names[3]))
        if top is None:
            return _bad(_BAD_TOP)
        return await _answered(request, lambda: source.workload(reference, top))

    async def pending(request: PageRequest) -> Page:
        return await _answered(request, lambda: source.pending(_value(request, "namespace")))

    pages.add_async(f"{INSIGHT_PREFIX}explain/", explain)
    pages.add_async(f"{INSIGHT_PREFIX}why-not/", why_not)
    pages.add_async(f"{INSIGHT_PREFIX}workload/", workload)
    pages.add_async(f"{INSIGHT_PREFIX}pending", pending)


def _names(path: str) -> list[str]:
    return [unquote(part) for part in path.removeprefix(INSIGHT_PREFIX).split("/")]


def _value(request: PageRequest, name: str) -> str:
    return request.query.get(name, [""])[0]


def _top(request: PageRequest) -> int | None:
    """The number of nodes that the request asks for; None if it is invalid."""
    top = _value(request, "nodes") or str(_DEFAULT_TOP)
    return int(top) if top.isdecimal() and int(top) <= MAX_TOP else None


def _bad(message: str) -> Page:
    return status_page(400, "BadRequest", message)


async def _answered(request: PageRequest, ask: Callable[[], Future[Any]]) -> Page:
    if request.method not in ("GET", "HEAD"):
        return status_page(405, "MethodNotAllowed", "the method is not allowed; use GET")
    try:
        answer = await asyncio.wait_for(asyncio.wrap_future(ask()), ANSWER_TIMEOUT_SECONDS)
    except (StowplanError, TimeoutError) as problem:
        return problem_page(problem)
    return Page(200, codec.encode(answer), JSON, NO_SNIFFING)


def problem_page(problem: StowplanError | TimeoutError) -> Page:
    """The response to a question that was not answered."""
    if isinstance(problem, TooManyQuestionsError | NotReadyError):
        return status_page(503, "ServiceUnavailable", str(problem))._replace(headers=_RETRY)
    if isinstance(problem, PodNotFoundError | NodeNotFoundError):
        return status_page(404, "NotFound", str(problem))
    if isinstance(problem, TooLargeError):
        return status_page(422, "Invalid", str(problem))
    if isinstance(problem, TimeoutError):
        message = f"no answer within {ANSWER_TIMEOUT_SECONDS:.0f} seconds"
        return status_page(503, "ServiceUnavailable", message)._replace(headers=_RETRY)
    return status_page(500, "InternalError", str(problem))
