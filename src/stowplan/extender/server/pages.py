"""Pages for operators: health, version, metrics, decisions."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

import msgspec

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.extender.server.decisions import DecisionLog
from stowplan.observe.health import HealthCheck, HealthPage
from stowplan.observe.registry import MetricRegistry
from stowplan.serving.pages import JSON, Page, PageHandler, PageRequest, Pages

_DEFAULT_LIMIT = 50
"""Decisions on the page without a pod."""
_MAX_LIMIT_DIGITS = 9
_DECISIONS = "/debug/decisions"
_VERSION = Page(200, msgspec.json.encode({"stowplan": __version__, "kubernetes": KUBERNETES_VERSION}), JSON)

OPEN = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Pages without a check of the client certificate."""


class OperatorPages(Pages):
    """The extender's pages. A slash at the end of a path is ignored."""

    def __init__(
        self,
        registry: MetricRegistry,
        decisions: DecisionLog,
        *,
        live: Sequence[HealthCheck],
        ready: Sequence[HealthCheck],
    ) -> None:
        super().__init__()
        self._decisions = decisions
        self.add("/version", lambda request: _VERSION)
        self.add_metrics("/metrics", registry)
        self.add(_DECISIONS, self._all_decisions)
        self.add(f"{_DECISIONS}/", self._pod_decisions)
        for page in (HealthPage("healthz", live), HealthPage("livez", live), HealthPage("readyz", ready)):
            self.add_health(page)

    def find(self, path: str) -> PageHandler | None:
        return super().find(path.rstrip("/") or "/")

    def not_found(self, request: PageRequest) -> Page:
        if request.method not in ("GET", "HEAD"):
            return Page(405, b"there are pages to read here, no more\n")
        return Page(404, f"there is no {request.path}; there are {self.listing()}\n".encode())

    def listing(self) -> str:
        return ", ".join(self.paths)

    def add_health(self, page: HealthPage) -> None:
        """Serve a health page with the reasons of failed checks. A failed /readyz is 503."""

        def whole(request: PageRequest) -> Page:
            reply = page.report(verbose="verbose" in request.query, exclude=request.query.get("exclude", ()))
            if reply.status == 200:
                return Page(reply.status, reply.text.encode())
            problems = [(check.name, check.problem()) for check in page.checks]
            why = "".join(f"{name}: {problem}\n" for name, problem in problems if problem)
            return Page(503 if page.name == "readyz" else reply.status, f"{reply.text}{why}".encode())

        self.add(f"/{page.name}", whole)

    def _all_decisions(self, request: PageRequest) -> Page:
        query = request.query
        pod = next(iter(query.get("uid", ()) or query.get("pod", ())), "")
        limit = next(iter(query.get("limit", ())), "")
        if limit.isdecimal() and len(limit) <= _MAX_LIMIT_DIGITS:
            return self._decisions_of(pod, int(limit))
        return self._decisions_of(pod, 0 if pod or limit.isdecimal() else _DEFAULT_LIMIT)

    def _pod_decisions(self, request: PageRequest) -> Page:
        return self._decisions_of(unquote(request.path.removeprefix(f"{_DECISIONS}/").rstrip("/")), 0)

    def _decisions_of(self, pod: str, limit: int) -> Page:
        """Decisions about a pod, by uid or namespace/name; 0 means no limit."""
        found = [entry.as_json() for entry in self._decisions.find(pod, limit)]
        if pod and not found:
            return Page(404, f"no decision about {pod} is remembered\n".encode())
        return Page(200, msgspec.json.encode(found), JSON)
