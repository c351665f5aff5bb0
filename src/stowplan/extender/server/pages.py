"""What operators and their tools read: health, version, metrics, decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.extender.server.decisions import DecisionLog
from stowplan.extender.server.messages import JSON, TEXT
from stowplan.observe.health import HealthCheck, HealthPage, HealthReply
from stowplan.observe.registry import CONTENT_TYPE, MetricRegistry

_SHOWN = 50
"""Decisions on the page that names no pod."""
_DECISIONS = "/debug/decisions"

OPEN = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Pages that everybody may read; all others only those who may also ask about pods."""


class OperatorPage(NamedTuple):
    """An answer."""

    status: int
    content: bytes
    content_type: str = TEXT


Query = Mapping[str, Sequence[str]]


class OperatorPages:
    """Finds the page for a path."""

    def __init__(
        self,
        registry: MetricRegistry,
        decisions: DecisionLog,
        *,
        live: Sequence[HealthCheck],
        ready: Sequence[HealthCheck],
    ) -> None:
        self._decisions = decisions
        healthz, livez = HealthPage("healthz", live), HealthPage("livez", live)
        readyz = HealthPage("readyz", ready)
        self._pages: dict[str, Callable[[Query], OperatorPage]] = {
            "/version": lambda query: _VERSION,
            "/metrics": lambda query: OperatorPage(200, registry.expose(), CONTENT_TYPE),
            _DECISIONS: self._all_decisions,
        }
        for page in (healthz, livez, readyz):
            self._add_health(page)

    def find(self, path: str, query: Query) -> OperatorPage | None:
        """None where there is no such page."""
        page = self._pages.get(path.rstrip("/") or "/")
        if page is not None:
            return page(query)
        if path.startswith(f"{_DECISIONS}/"):
            return self._decisions_of(unquote(path.removeprefix(f"{_DECISIONS}/").rstrip("/")), 0)
        return None

    def listing(self) -> str:
        return ", ".join(sorted(self._pages))

    def _add_health(self, page: HealthPage) -> None:
        # The reasons are told: who may probe an extender may know what it waits for.
        def whole(query: Query) -> OperatorPage:
            told = page.report(verbose="verbose" in query, exclude=query.get("exclude", ()))
            if told.status == 200:
                return _replied(told)
            problems = [(check.name, check.problem()) for check in page.checks]
            why = "".join(f"{name}: {problem}\n" for name, problem in problems if problem)
            return OperatorPage(503 if page.name == "readyz" else told.status, f"{told.text}{why}".encode())

        self._pages[f"/{page.name}"] = whole

    def _all_decisions(self, query: Query) -> OperatorPage:
        pod = next(iter(query.get("uid", ()) or query.get("pod", ())), "")
        limit = next(iter(query.get("limit", ())), "")
        return self._decisions_of(pod, int(limit) if limit.isdecimal() else 0 if pod else _SHOWN)

    def _decisions_of(self, pod: str, limit: int) -> OperatorPage:
        """By uid, or by namespace/name."""
        found = [entry.told() for entry in self._decisions.find(pod, limit)]
        if pod and not found:
            return OperatorPage(404, f"no decision about {pod} is remembered\n".encode())
        return OperatorPage(200, msgspec.json.encode(found), JSON)


_VERSION = OperatorPage(200, msgspec.json.encode({"stowplan": __version__, "kubernetes": KUBERNETES_VERSION}), JSON)


def _replied(reply: HealthReply) -> OperatorPage:
    return OperatorPage(reply.status, reply.text.encode())
