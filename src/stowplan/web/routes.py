"""The paths of the page's data, below /api/v1/ or, in a live scheduler, /insight/v1/."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from stowplan.errors import StowplanError
from stowplan.insight.workloads import WorkloadName, WorkloadReference
from stowplan.serving.insight_pages import ANSWER_TIMEOUT_SECONDS, MAX_TOP, problem_page
from stowplan.serving.pages import JSON, Page, PageRequest, Pages, status_page
from stowplan.web.access import SECURITY_HEADERS
from stowplan.web.pending import MAX_ROWS
from stowplan.web.source import MIN_REFRESH_SECONDS, StateSource
from stowplan.web.what_if import InvalidQuestionError, WhatIfRuns

API_PREFIX = "/api/v1/"
DEFAULT_TOP = 5
_COMPRESS_FROM_BYTES = 1024
_COMPRESS_ON_THREAD_FROM_BYTES = 100_000
GZIP_LEVEL = 3
_DEFAULT_ROWS = 100

Answer = Callable[[PageRequest, list[str]], Awaitable[Any]]


class PageRequestError(StowplanError):
    """A path or a query that is not valid."""


class NotOfferedError(StowplanError):
    """A path that the source does not serve; `Hello.features` lists the served paths."""


def add_data_pages(pages: Pages, source: StateSource, prefix: str = API_PREFIX) -> None:
    """Serves the answers of a source."""

    shared = _SharedAnswers(source)

    async def explain(request: PageRequest, names: list[str]) -> Any:
        namespace, pod = _named(names, 2, "NAMESPACE/POD")
        return await source.answers.explain(namespace, pod, _number(request, "top", DEFAULT_TOP))

    async def opened(request: PageRequest, names: list[str]) -> Any:
        namespace, pod, number = _named(names, 3, "NAMESPACE/POD/NUMBER")
        return await source.opened(namespace, pod, _parsed_number(number, "NUMBER", MAX_TOP))

    async def why_not(request: PageRequest, names: list[str]) -> Any:
        return await source.answers.why_not(*_named(names, 3, "NAMESPACE/POD/NODE"))

    async def workload(request: PageRequest, names: list[str]) -> Any:
        namespace, kind, name = _named(names, 3, "NAMESPACE/KIND/NAME")
        return await source.answers.workload(WorkloadReference(namespace, WorkloadName(kind, name)))

    async def pending(request: PageRequest, names: list[str]) -> Any:
        if not names:
            return await source.pending()
        count = _number(request, "count", _DEFAULT_ROWS, MAX_ROWS)
        return await source.group(_named(names, 1, "GROUP")[0], _number(request, "from", 0, 10**9), count)

    async def pods(request: PageRequest, names: list[str]) -> Any:
        if "names" in request.query:
            return await shared.get("names", source.pod_names)
        return await shared.get("pods", source.pods)

    async def history(request: PageRequest, names: list[str]) -> Any:
        if source.history is None:
            raise NotOfferedError("this source has no history")
        since = float(_number(request, "since", 0, 10**10)) if "since" in request.query else -1.0
        return source.history.since(since)

    async def events(request: PageRequest, names: list[str]) -> Any:
        if source.run is None:
            raise NotOfferedError("this source has no run")
        first = _number(request, "from", 0, 10**9)
        if first == 0:
            return await shared.get("events", lambda: source.run_events(0))
        return await source.run_events(first)

    answers: dict[str, Answer] = {
        "run/events": events,
        "hello": lambda request, names: source.hello(),
        "map": lambda request, names: shared.get("map", source.map),
        "pods": pods,
        "fit": lambda request, names: source.fit(*_named(names, 2, "NAMESPACE/POD")),
        "opened": opened,
        "points": lambda request, names: source.points(*_named(names, 2, "NAMESPACE/POD")),
        "queue": lambda request, names: source.queue(),
        "config": lambda request, names: source.config(),
        "history": history,
        "pending": pending,
        "explain": explain,
        "why-not": why_not,
        "workload": workload,
        "node": lambda request, names: source.node(*_named(names, 1, "NAME")),
    }
    for name, answer in answers.items():
        add_data_page(pages, prefix + name, answer)
    add_what_if_pages(pages, lambda: source.what_if, prefix)


def add_what_if_pages(pages: Pages, offered: Callable[[], WhatIfRuns | None], prefix: str = API_PREFIX) -> None:
    """Serves questions about changes, and the runs that answer them."""

    def runs() -> WhatIfRuns:
        found = offered()
        if found is None:
            raise NotOfferedError("this source offers no what-if, and has no runs to compare")
        return found

    async def run(request: PageRequest, names: list[str]) -> Any:
        found: Any = None
        if len(names) == 1:
            found = runs().find(names[0])
        elif len(names) == 2 and names[1] == "maps":
            found = runs().maps(names[0])
        if found is None:
            raise NotOfferedError("there is no such run")
        return found

    async def compare(request: PageRequest, names: list[str]) -> Any:
        return runs().finished()

    async def what_if(request: PageRequest, names: list[str]) -> Any:
        return runs().start(request.body)

    add_data_page(pages, f"{prefix}run", run)
    add_data_page(pages, f"{prefix}compare", compare)
    add_data_page(pages, f"{prefix}what-if", what_if, ("POST",))


def add_data_page(pages: Pages, path: str, answer: Answer, methods: tuple[str, ...] = ("GET", "HEAD")) -> None:
    """Serves an answer as JSON, at the path and below it."""
    handler = _handler(path, answer, methods)
    pages.add_async(path, handler)
    pages.add_async(f"{path}/", handler)


def _handler(path: str, answer: Answer, methods: tuple[str, ...]) -> Callable[[PageRequest], Awaitable[Page]]:
    async def handler(request: PageRequest) -> Page:
        if request.method not in methods:
            return status_page(405, "MethodNotAllowed", f"the method is not allowed; use {methods[0]}")
        rest = request.path[len(path) :].strip("/")
        names = [unquote(name) for name in rest.split("/")] if rest else []
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
                value = await answer(request, names)
        except (PageRequestError, InvalidQuestionError) as error:
            return status_page(400, "BadRequest", str(error))
        except NotOfferedError as error:
            return status_page(404, "NotFound", str(error))
        except (StowplanError, TimeoutError) as problem:
            return problem_page(problem)
        if isinstance(value, _Packed):
            return _packed_page(request, value)
        return await compressed(request, msgspec.json.encode(value))

    return handler


class _Packed(NamedTuple):
    """An answer as it is sent."""

    content: bytes
    is_compressed: bool
    etag: str


async def _packed(content: bytes) -> _Packed:
    etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    if len(content) < _COMPRESS_FROM_BYTES:
        return _Packed(content, False, etag)
    if len(content) < _COMPRESS_ON_THREAD_FROM_BYTES:
        return _Packed(gzip.compress(content, GZIP_LEVEL), True, etag)
    return _Packed(await asyncio.to_thread(gzip.compress, content, GZIP_LEVEL), True, etag)


def _packed_page(request: PageRequest, packed: _Packed) -> Page:
    """304 if the client has the answer."""
    headers = {**SECURITY_HEADERS, "ETag": packed.etag, "Vary": "Accept-Encoding"}
    if request.headers.get("If-None-Match", "") == packed.etag:
        return Page(304, b"", JSON, headers)
    content, is_compressed, _ = packed
    if is_compressed and "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
    elif is_compressed:
        content = gzip.decompress(content)
    return Page(200, content, JSON, headers)


async def compressed(request: PageRequest, content: bytes) -> Page:
    """JSON, compressed if the client accepts that; 304 if the client has it."""
    return _packed_page(request, await _packed(content))


class _SharedAnswers:
    """Answers about all nodes or pods, which are made once for all clients: of a state that does not change once, of
    another one at most once a second."""

    def __init__(self, source: StateSource) -> None:
        self._source = source
        self._lock = asyncio.Lock()
        self._kept: dict[str, tuple[float, int, _Packed]] = {}
        """By name: when it was made, at least of which revision, and the answer."""

    async def get(self, name: str, make: Callable[[], Awaitable[Any]]) -> _Packed:
        async with self._lock:
            made, revision, packed = self._kept.get(name, (0.0, 0, None))
            is_fresh = not self._source.shown.changes or monotonic() - made < MIN_REFRESH_SECONDS
            if packed is None or not is_fresh or not self._source.mirror.knows(revision):
                revision = self._source.mirror.revision
                packed = await _packed(msgspec.json.encode(await make()))
                self._kept[name] = monotonic(), max(revision, 1), packed
            return packed


def _named(names: list[str], count: int, pattern: str) -> list[str]:
    if len(names) != count or not all(names):
        raise PageRequestError(f"the path ends in {pattern}")
    return names


def _number(request: PageRequest, name: str, default: int, maximum: int = MAX_TOP) -> int:
    return _parsed_number(request.query.get(name, [str(default)])[0], name, maximum)


def _parsed_number(text: str, name: str, maximum: int) -> int:
    if not text.isdecimal() or len(text) > 10 or int(text) > maximum:
        raise PageRequestError(f"{name}: a number up to {maximum} is expected")
    return int(text)
