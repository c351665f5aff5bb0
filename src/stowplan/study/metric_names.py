"""Names of metrics and series that the runs of a scenario can have: mistakes are found before the first run."""

from __future__ import annotations

from collections.abc import Collection

from stowplan.config.strict_decoding import suggestion
from stowplan.errors import InputError
from stowplan.simulator.scenario import LoadedScenario
from stowplan.study.grouped_rows import GROUPS
from stowplan.study.metrics import SAMPLED_RESOURCES, UTILISATION, known_metrics

_SERIES = ("pending", "running", "nodes", "nodes.used", "spread.skew", "fairness.drf")
_SERIES_BY_RESOURCE = (
    "utilisation", "imbalance", "fragmentation.largest", "fragmentation.fgd", "fragmentation.stranded",
)  # fmt: skip


class MetricNames:
    """The names that are possible in runs of a scenario. A possible metric may still be without a value."""

    def __init__(self, scenario: LoadedScenario, further: str = "") -> None:
        """Resources and workloads that the text `further` mentions are taken for possible: it may bring them in."""
        self._further = further
        self._resources = {name for pool in scenario.pools for name in pool.template.status.allocatable} - {"pods"}
        self._workloads = [workload.name for workload in scenario.workloads]
        self._any_resource = scenario.node_trace is not None or bool(scenario.spec.manifests)
        self._any_workload = bool(scenario.spec.manifests)

    def problem(self, text: str) -> str:
        """Why no run has this metric, which may have a group, as in `wait.p95 workload=web`. Empty if one may have."""
        metric, _, group = text.partition(" ")
        known = known_metrics(sorted(self._resources))
        if metric not in known and not self._is_utilisation(metric):
            return f"unknown metric {text}{suggestion(metric, known)}"
        kind, equals, name = group.partition("=")
        if not group:
            return ""
        if not equals or kind not in GROUPS:
            return f"unknown metric {text}: expected a group such as workload=NAME, of {', '.join(GROUPS)}"
        if kind == "workload" and not self._is_workload(name):
            return f'unknown metric {text}: no workload is named "{name}"{suggestion(name, self._workloads)}'
        return ""

    def _is_utilisation(self, metric: str) -> bool:
        resource = metric.removeprefix(UTILISATION)
        return metric.startswith(UTILISATION) and bool(resource) and (self._any_resource or resource in self._further)

    def _is_workload(self, name: str) -> bool:
        return self._any_workload or name in self._workloads or (bool(name) and name in self._further)

    def check(self, texts: Collection[str], origin: str) -> None:
        """Raises InputError for the first metric that no run has."""
        for text in texts:
            if problem := self.problem(text):
                raise InputError(f"{origin}: {problem}")

    def series_problem(self, name: str) -> str:
        """Why no run has a series of samples with this name. Empty if one may have."""
        resources = [each for each in SAMPLED_RESOURCES if self._any_resource or each in self._resources]
        known = [*_SERIES, *(f"{head}.{resource}" for head in _SERIES_BY_RESOURCE for resource in resources)]
        return "" if name in known else f"no series {name}{suggestion(name, known)}"
