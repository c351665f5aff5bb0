"""The metrics reference, from the registries."""

from tests.docs.reference.tables import code, table

from stowplan.extender.server.metrics import ServerMetrics
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.observe.health import HealthMetrics
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.observe.rest_client_metrics import RequestMetrics

_REGISTRIES = {
    "scheduler": lambda: SchedulerMetrics(MetricRegistry(), groups=True).registry,
    "requests": lambda: _requests(),
    "extender": lambda: ServerMetrics(MetricRegistry()).registry,
    "calls": lambda: _calls(),
    "slis": lambda: HealthMetrics().registry,
}


def described(which: str) -> str:
    """Name, kind, labels, stability level and HELP text of each metric."""
    rows = []
    for family in _REGISTRIES[which]()._families.values():
        stability, _, text = family.help_text.partition("] ")
        labels = ", ".join(map(code, family.label_names))
        rows.append((code(family.name), family.kind, labels, stability.strip("[").lower(), text))
    return table(("metric", "kind", "labels", "stability", "meaning"), sorted(rows))


def _calls() -> MetricRegistry:
    registry = MetricRegistry()
    ExtenderMetrics(registry)
    return registry


def _requests() -> MetricRegistry:
    registry = MetricRegistry()
    RequestMetrics(registry, "api.example.com:6443")
    return registry
