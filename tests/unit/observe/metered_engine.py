"""An engine whose observer writes metrics."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from tests.builders.engine_host import Host

from stowplan.observe.gauges import gauge_sources
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.metrics_observer import MetricsObserver
from stowplan.observe.registry import MetricRegistry


class MeteredEngine:
    """An engine and its metrics, read as Prometheus reads them."""

    def __init__(self, *items: Any, groups: bool = False, **options: Any) -> None:
        self.metrics = SchedulerMetrics(MetricRegistry(), groups=groups)
        self.time = [0.0]
        self.observer = MetricsObserver(self.metrics, lambda: self.time[0])
        self.host = Host(*items, observer=self.observer, check_invariants=False, **options)
        self.metrics.gauges = gauge_sources(self.host.engine)
        self.observer.announce(self.host.engine.profiles.values())

    def sample(self, name: str, **labels: str) -> float | None:
        """The value of a sample, or None."""
        return next((value for found, value in self.samples(name) if found == labels), None)

    def samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        """The labels and values of all samples of a name."""
        families = text_string_to_metric_families(self.metrics.registry.expose().decode())
        return [(s.labels, s.value) for family in families for s in family.samples if s.name == name]
