"""Metrics of the health checks themselves: /metrics/slis."""

from __future__ import annotations

from stowplan.observe.component_metrics import process_start_time
from stowplan.observe.registry import ALPHA, STABLE, MetricRegistry


class HealthMetrics:
    """A registry of its own, fed by health pages."""

    def __init__(self) -> None:
        self.registry = MetricRegistry()
        text = "What a health check came to last: 1 if it passed, 0 if it failed."
        self._last = self.registry.gauge("kubernetes_healthcheck", STABLE, text, ("name", "type"))
        text = "What health checks came to."
        labels = ("name", "type", "status")
        self._total = self.registry.counter("kubernetes_healthchecks_total", STABLE, text, labels)
        text = "When the process began, in seconds since 1970."
        self.registry.gauge("process_start_time_seconds", ALPHA, text).series().set(process_start_time())

    def told(self, name: str, page: str, passed: bool) -> None:
        self._last.series(name, page).set(float(passed))
        self._total.series(name, page, "success" if passed else "error").add()
