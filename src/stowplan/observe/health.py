"""Health checks, their pages /healthz, /livez and /readyz, and their metrics /metrics/slis.

Upstream: k8s.io/apiserver/pkg/server/healthz/healthz.go, k8s.io/component-base/metrics/prometheus/slis/metrics.go
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from stowplan import logs
from stowplan.observe.component_metrics import process_start_time
from stowplan.observe.registry import ALPHA, STABLE, MetricRegistry

log = logs.get(__name__)

OnCheck = Callable[[str, str, bool], None]
"""Called for each check that ran: its name, the page, whether it passed."""


class HealthCheck(NamedTuple):
    """A named check. `problem` returns the failure, None if the check passes."""

    name: str
    problem: Callable[[], str | None]


PING = HealthCheck("ping", lambda: None)


class HealthReply(NamedTuple):
    """Status and body of an HTTP response."""

    status: int
    text: str


class HealthPage:
    """One of /healthz, /livez and /readyz: all checks, and below the page each single check."""

    def __init__(self, name: str, checks: Collection[HealthCheck] = (), on_check: OnCheck | None = None) -> None:
        self.name = name
        self.checks = tuple(checks) or (PING,)
        self._on_check = on_check

    def report(self, *, verbose: bool = False, exclude: Collection[str] = ()) -> HealthReply:
        """Run all checks. Reasons go to the log alone, since the page needs no authorization."""
        lines: list[str] = []
        reasons: dict[str, str] = {}
        for check in self.checks:
            if check.name in exclude:
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            problem = check.problem()
            if self._on_check is not None:
                self._on_check(check.name, self.name, problem is None)
            if problem is not None:
                reasons[check.name] = problem
            lines.append(f"[+]{check.name} ok\n" if problem is None else f"[-]{check.name} failed: reason withheld\n")
        unknown = sorted(set(exclude).difference(check.name for check in self.checks))
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if reasons:
            log.v(2, "Health check failed", page=self.name, checks=reasons)
            return HealthReply(500, f"{''.join(lines)}{self.name} check failed\n")
        return HealthReply(200, f"{''.join(lines)}{self.name} check passed\n" if verbose else "ok")

    def one(self, name: str) -> HealthReply | None:
        """Run one check and return its reason, since this page needs authorization. None if there is no such check."""
        for check in self.checks:
            if check.name == name:
                problem = check.problem()
                return (
                    HealthReply(200, "ok")
                    if problem is None
                    else HealthReply(500, f"internal server error: {problem}\n")
                )
        return None


class HealthMetrics:
    """Metrics of health checks, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = MetricRegistry()
        text = "This metric records the result of a single healthcheck."
        self._last = self.registry.gauge("kubernetes_healthcheck", STABLE, text, ("name", "type"))
        text = "This metric records the results of all healthcheck."
        labels = ("name", "type", "status")
        self._total = self.registry.counter("kubernetes_healthchecks_total", STABLE, text, labels)
        text = "Start time of the process since unix epoch in seconds."
        self.registry.gauge("process_start_time_seconds", ALPHA, text).series().set(process_start_time())

    def on_check(self, name: str, page: str, passed: bool) -> None:
        self._last.series(name, page).set(float(passed))
        self._total.series(name, page, "success" if passed else "error").add()
