"""What a scheduler serves: health, metrics, and what it was started with."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from stowplan import logs
from stowplan._version import KUBERNETES_VERSION
from stowplan.observe.component_metrics import process_start_time
from stowplan.observe.health import HealthPage, HealthReply
from stowplan.observe.registry import CONTENT_TYPE, MetricRegistry
from stowplan.observe.sli_metrics import HealthMetrics
from stowplan.serving.content_negotiation import NotAcceptableError, choose, encode

COMPONENT = "kube-scheduler"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

_WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)
_SHOWN_PATHS = ("/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz")


class PageRequest(NamedTuple):
    """What of a request matters here."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = {}
    accept: str = ""
    body: bytes = b""


class Page(NamedTuple):
    """An answer."""

    status: int
    content: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = {}


NOT_FOUND = Page(404, b"404 page not found\n", headers={"X-Content-Type-Options": "nosniff"})


def status_page(code: int, reason: str, message: str, **more: Any) -> Page:
    """A refusal as the API server writes it."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }
    return Page(code, msgspec.json.encode(status), JSON, {"X-Content-Type-Options": "nosniff"})


@dataclass
class Sources:
    """Where the pages get their content from. All of it is called on the server's thread, and must not wait."""

    metrics: MetricRegistry
    health: HealthMetrics
    health_pages: tuple[HealthPage, ...]
    configuration: Mapping[str, Any]
    """The effective KubeSchedulerConfiguration as plain data."""
    flags: Mapping[str, str]
    resources: Callable[[], bytes] = lambda: b""
    """The metrics of pods, empty where another replica leads."""
    profiling: bool = True
    gates: Mapping[str, bool] = field(default_factory=dict)


class Pages:
    """Finds the page for a path."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._started = process_start_time()
        self._pages: dict[str, Callable[[PageRequest], Page]] = {
            "/metrics": lambda request: self._metrics(request, sources.metrics),
            "/metrics/slis": lambda request: self._metrics(request, sources.health.registry),
            "/metrics/resources": lambda request: self._text(sources.resources(), CONTENT_TYPE),
            "/configz": self._configz,
        }
        for page in sources.health_pages:
            self._add_health(page)
        if sources.gates.get("ComponentStatusz", True):
            self._pages["/statusz"] = self._statusz
        if sources.gates.get("ComponentFlagz", True):
            self._pages["/flagz"] = self._flagz
        if sources.profiling:
            self._pages["/debug/flags/v"] = _set_verbosity

    def answer(self, request: PageRequest) -> Page:
        page = self._pages.get(request.path)
        return NOT_FOUND if page is None else page(request)

    def _add_health(self, page: HealthPage) -> None:
        def whole(request: PageRequest) -> Page:
            exclude = request.query.get("exclude", ())
            reply = page.report(verbose="verbose" in request.query, exclude=exclude)
            return _replied(reply)

        def single(request: PageRequest) -> Page:
            reply = page.one(request.path.rpartition("/")[2])
            return NOT_FOUND if reply is None else _replied(reply)

        self._pages[f"/{page.name}"] = whole
        for check in page.checks:
            self._pages[f"/{page.name}/{check.name}"] = single

    def _metrics(self, request: PageRequest, registry: MetricRegistry) -> Page:
        if request.method == "DELETE":
            registry.reset()
            return Page(200, b"metrics reset\n")
        return self._text(registry.expose(), CONTENT_TYPE)

    def _text(self, content: bytes, content_type: str) -> Page:
        return Page(200, content, content_type, {"Process-Start-Time-Unix": str(int(self._started))})

    def _configz(self, request: PageRequest) -> Page:
        content = msgspec.json.encode({"componentconfig": self._sources.configuration})
        return Page(200, content, JSON, {"X-Content-Type-Options": "nosniff"})

    def _statusz(self, request: PageRequest) -> Page:
        binary = KUBERNETES_VERSION.removeprefix("v")
        uptime = max(int(time.time() - self._started), 0)
        facts = {
            "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            "uptimeSeconds": uptime,
            "goVersion": f"python{platform.python_version()}",
            "binaryVersion": binary,
            "emulationVersion": binary.rpartition(".")[0],
            "paths": _SHOWN_PATHS,
        }
        text = (
            f"\nStarted: {time.strftime('%a %b %e %H:%M:%S %Z %Y', time.localtime(self._started))}\n"
            f"Up: {uptime // 3600} hr {uptime // 60 % 60:02} min {uptime % 60:02} sec\n"
            f"Go version: {facts['goVersion']}\n"
            f"Binary version: {binary}\n"
            f"Emulation version: {facts['emulationVersion']}\n"
            f"Paths: {' '.join(_SHOWN_PATHS)}\n"
        )
        return _zpage(request, "Statusz", facts, text)

    def _flagz(self, request: PageRequest) -> Page:
        text = "".join(f"{name}={value}\n" for name, value in sorted(self._sources.flags.items()))
        return _zpage(request, "Flagz", {"flags": dict(self._sources.flags)}, text)


def _zpage(request: PageRequest, kind: str, facts: Mapping[str, Any], text: str) -> Page:
    """For people as text, for programs as an object of the version that they ask for."""
    try:
        chosen = choose(request.accept, kind)
    except NotAcceptableError as refusal:
        return status_page(406, "NotAcceptableError", str(refusal))
    if chosen is None:
        return Page(200, f"\n{COMPONENT} {kind.lower()}\n{_WARNING}\n{text}".encode())
    head = {"kind": kind, "apiVersion": f"config.k8s.io/{chosen.version}", "metadata": {"name": COMPONENT}}
    return Page(200, encode(chosen, {**head, **facts}), chosen.content_type, chosen.headers)


def _replied(reply: HealthReply) -> Page:
    return Page(reply.status, reply.text.encode(), headers={"X-Content-Type-Options": "nosniff"})


def _set_verbosity(request: PageRequest) -> Page:
    if request.method != "PUT":
        return Page(406, b"unsupported http method\n", "text/plain")
    text = request.body.decode(errors="replace").strip()
    if not text.isdecimal():
        return Page(400, f'strconv.ParseUint: parsing "{text}": invalid syntax\n'.encode(), "text/plain")
    logs.set_verbosity(int(text))
    return Page(200, f"successfully set klog.logging.verbosity to {text}\n".encode(), "text/plain")
