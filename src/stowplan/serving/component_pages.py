"""Pages that every Kubernetes component serves: health, metrics, /configz, /statusz, /flagz and the log verbosity.

Upstream: k8s.io/apiserver/pkg/server/statusz, k8s.io/apiserver/pkg/server/flagz, k8s.io/component-base/configz
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stowplan import logs
from stowplan._version import KUBERNETES_VERSION
from stowplan.config.releases import LATEST
from stowplan.observe.component_metrics import process_start_time
from stowplan.observe.health import HealthMetrics, HealthPage
from stowplan.observe.registry import CONTENT_TYPE, MetricRegistry
from stowplan.serving.content_negotiation import NotAcceptableError, choose, encode
from stowplan.serving.insight_pages import InsightSource, add_insight_pages
from stowplan.serving.pages import JSON, NO_SNIFFING, Page, PageRequest, Pages, status_page

COMPONENT = "kube-scheduler"

_WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)
_STATUSZ_PATHS = ("/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz")


@dataclass
class Sources:
    """Contents of the pages. The callables run on the server's threads and must not wait for the scheduling loop."""

    metrics: MetricRegistry
    health: HealthMetrics
    health_pages: tuple[HealthPage, ...]
    configuration: Mapping[str, Any]
    """The effective KubeSchedulerConfiguration as plain data."""
    flags: Mapping[str, str]
    resources: Callable[[], bytes] = lambda: b""
    """The content of /metrics/resources; empty on a replica that does not lead."""
    profiling: bool = True
    gates: Mapping[str, bool] = field(default_factory=dict)
    emulated: str = LATEST.version
    """The release whose rules apply."""
    insight: InsightSource | None = None
    """Explanations of decisions."""
    add_more: Callable[[Pages], None] = lambda pages: None
    """Adds the pages of the process itself."""


class ComponentPages(Pages):
    """The pages of kube-scheduler."""

    def __init__(self, sources: Sources) -> None:
        super().__init__()
        self._sources = sources
        self._started = process_start_time()
        started = {"Process-Start-Time-Unix": str(int(self._started))}
        self.add_metrics("/metrics", sources.metrics, started)
        self.add_metrics("/metrics/slis", sources.health.registry, started)
        self.add(
            "/metrics/resources", lambda request: Page(200, sources.resources(), CONTENT_TYPE, started), blocking=True
        )
        self.add("/configz", self._configz)
        for page in sources.health_pages:
            self.add_health(page)
        if sources.gates.get("ComponentStatusz", True):
            self.add("/statusz", self._statusz)
        if sources.gates.get("ComponentFlagz", True):
            self.add("/flagz", self._flagz)
        if sources.insight is not None:
            add_insight_pages(self, sources.insight)
        sources.add_more(self)
        if sources.profiling:
            self.add("/debug/flags/v", _set_verbosity)

    def _configz(self, request: PageRequest) -> Page:
        content = msgspec.json.encode({"componentconfig": self._sources.configuration})
        return Page(200, content, JSON, NO_SNIFFING)

    def _statusz(self, request: PageRequest) -> Page:
        binary = KUBERNETES_VERSION.removeprefix("v")
        uptime = max(int(time.time() - self._started), 0)
        facts = {
            "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            "uptimeSeconds": uptime,
            "goVersion": f"python{platform.python_version()}",
            "binaryVersion": binary,
            "emulationVersion": self._sources.emulated,
            "paths": _STATUSZ_PATHS,
        }
        text = (
            f"\nStarted: {time.strftime('%a %b %e %H:%M:%S %Z %Y', time.localtime(self._started))}\n"
            f"Up: {uptime // 3600} hr {uptime // 60 % 60:02} min {uptime % 60:02} sec\n"
            f"Go version: {facts['goVersion']}\n"
            f"Binary version: {binary}\n"
            f"Emulation version: {facts['emulationVersion']}\n"
            f"Paths: {' '.join(_STATUSZ_PATHS)}\n"
        )
        return _zpage(request, "Statusz", facts, text)

    def _flagz(self, request: PageRequest) -> Page:
        text = "".join(f"{name}={value}\n" for name, value in sorted(self._sources.flags.items()))
        return _zpage(request, "Flagz", {"flags": dict(self._sources.flags)}, text)


def _zpage(request: PageRequest, kind: str, facts: Mapping[str, Any], text: str) -> Page:
    """Text by default; an object of the version that the Accept header names."""
    try:
        chosen = choose(request.accept, kind)
    except NotAcceptableError as refusal:
        return status_page(406, "NotAcceptable", str(refusal))
    if chosen is None:
        return Page(200, f"\n{COMPONENT} {kind.lower()}\n{_WARNING}\n{text}".encode())
    head = {"kind": kind, "apiVersion": f"config.k8s.io/{chosen.version}", "metadata": {"name": COMPONENT}}
    return Page(200, encode(chosen, {**head, **facts}), chosen.content_type, chosen.headers)


def _set_verbosity(request: PageRequest) -> Page:
    if request.method != "PUT":
        return Page(406, b"unsupported http method\n", "text/plain")
    text = request.body.decode(errors="replace").strip()
    if not text.isdecimal():
        return Page(400, f'strconv.ParseUint: parsing "{text}": invalid syntax\n'.encode(), "text/plain")
    logs.set_verbosity(int(text))
    return Page(200, f"successfully set klog.logging.verbosity to {text}\n".encode(), "text/plain")
