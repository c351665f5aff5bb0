"""TargetLoadPacking: packs nodes up to a target of measured cpu use, and spreads pods above it.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/trimaran/targetloadpacking/targetloadpacking.go
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.quantity import milli_value
from stowplan.cache.columns import Floats
from stowplan.config.args.optional import RFC_3339
from stowplan.config.args.trimaran import TargetLoadPackingArgs
from stowplan.optional_plugins.base.go_time import parse_go_time
from stowplan.optional_plugins.trimaran.load import LoadSnapshot, NodeLoad
from stowplan.optional_plugins.trimaran.plugin import LoadScorePlugin

REPORTING_INTERVAL_SECONDS = 60
"""Pods that started less than this before the end of the window are not in the metrics yet."""


class TargetLoadPacking(LoadScorePlugin):
    """Score: with predicted use u and target T, from T at u = 0 to 100 at T, then from T down to 0 at u = 100."""

    name = "TargetLoadPacking"
    fact_count = 2
    follows_pods = True
    args: TargetLoadPackingArgs

    def facts(self, node: fwk.NodeInfo, load: NodeLoad, snapshot: LoadSnapshot) -> Sequence[float] | None:
        """Used millicores, recent pods included; capacity."""
        if load.packing_cpu is None:
            return None
        capacity = milli_value(node.node.status.capacity.get("cpu", 0))
        recent = sum(
            self.predicted_use(pod.template)
            for pod in node.pods.values()
            if _is_recent(pod.start_time, snapshot.window_end)
        )
        return load.packing_cpu / 100 * capacity + recent, capacity

    def scores(self, template: fwk.PodTemplate, facts: Floats) -> Floats:
        used, capacity = facts
        target = self.args.target_utilization
        use = np.where(capacity == 0, 0.0, 100 * (used + self.predicted_use(template)) / capacity)
        packing = (100 - target) * use / target + target
        spreading = target * (100 - use) / (100 - target) if target < 100 else np.zeros_like(use)
        return np.where(use <= target, packing, np.where(use <= 100, spreading, 0.0))

    def predicted_use(self, template: fwk.PodTemplate) -> int:
        """The cpu that a pod is expected to use, in millicores."""
        return template.derive(self, self._predicted_use)

    def _predicted_use(self, template: fwk.PodTemplate) -> int:
        total = milli_value(template.spec.overhead.get("cpu", 0))
        return total + sum(self._of_container(container) for container in template.spec.containers)

    def _of_container(self, container: api.Container) -> int:
        resources = container.resources
        if "cpu" in resources.limits:
            return milli_value(resources.limits["cpu"])
        if "cpu" in resources.requests:
            return floor(milli_value(resources.requests["cpu"]) * self.args.multiplier + 0.5)
        return self.args.default_milli_cpu

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        load = self.load_of(node)
        if load is None or load.packing_cpu is None:
            return "has no load metrics"
        return f"{load.packing_cpu:.0f} % of its cpu is used, the pod may add {self.predicted_use(pod.template)}m"


def _is_recent(start_time: str, window_end: float) -> bool:
    """Whether the metrics do not include a pod yet. Pods that the kubelet has not started are never included; metrics
    without the end of their window, 0, include all others."""
    started = parse_go_time(RFC_3339, start_time) if start_time else None
    return started is None or 0 < window_end < started + REPORTING_INTERVAL_SECONDS
