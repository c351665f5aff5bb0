"""LoadVariationRiskBalancing: prefers nodes whose measured load is low and varies little.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/trimaran/loadvariationriskbalancing
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from stowplan import framework as fwk
from stowplan.cache.columns import Floats
from stowplan.config.args.trimaran import LoadVariationRiskBalancingArgs
from stowplan.optional_plugins.base.requests import effective_request
from stowplan.optional_plugins.trimaran.load import LoadSnapshot, NodeLoad
from stowplan.optional_plugins.trimaran.plugin import LoadScorePlugin

_RESOURCES = ("cpu", "memory")


class LoadVariationRiskBalancing(LoadScorePlugin):
    """Score: 100 x (1 - (mean + deviation) / 2) with the pod, of the riskier resource."""

    name = "LoadVariationRiskBalancing"
    fact_count = 6
    args: LoadVariationRiskBalancingArgs

    def facts(self, node: fwk.NodeInfo, load: NodeLoad, snapshot: LoadSnapshot) -> Sequence[float] | None:
        """For cpu and memory: used amount, deviation as a fraction, allocatable amount. The amount is negative without
        metrics."""
        if load.cpu is None and load.memory is None:
            return None
        facts: list[float] = []
        for name, usage in zip(_RESOURCES, (load.cpu, load.memory), strict=True):
            amount = node.allocatable.get(name, 0)
            if usage is None:
                facts += (0.0, 0.0, -1.0)
            else:
                facts += (min(usage.average / 100, 1.0) * amount, min(usage.deviation / 100, 1.0), amount)
        return facts

    def scores(self, template: fwk.PodTemplate, facts: Floats) -> Floats:
        request = effective_request(template)
        cpu, memory = (
            self._of_resource(facts[3 * index : 3 * index + 3], request.get(name, 0))
            for index, name in enumerate(_RESOURCES)
        )
        has_both = (facts[2] >= 0) & (facts[5] >= 0)
        return np.where(has_both, np.minimum(cpu, memory), np.maximum(cpu, memory))

    def _of_resource(self, facts: Floats, request: int) -> Floats:
        used, deviation, amount = facts
        mean = np.clip((used + request) / amount, 0.0, 1.0)
        sensitivity = self.args.safe_variance_sensitivity
        deviation = np.power(deviation, 1 / sensitivity if sensitivity else inf) * self.args.safe_variance_margin
        score = (1 - (mean + np.clip(deviation, 0.0, 1.0)) / 2) * 100
        return np.where(amount > 0, score, 0.0)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        load = self.load_of(node)
        if load is None:
            return "has no load metrics"
        parts = [
            f"{name} {usage.average:.0f} ± {usage.deviation:.0f} %"
            for name, usage in zip(_RESOURCES, (load.cpu, load.memory), strict=True)
            if usage is not None
        ]
        return f"load {', '.join(parts)}"
