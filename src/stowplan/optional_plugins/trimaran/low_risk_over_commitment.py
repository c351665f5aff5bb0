"""LowRiskOverCommitment: avoids nodes where limits exceed what there is, or where more is used than requested.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/trimaran/lowriskovercommitment
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from stowplan import framework as fwk
from stowplan.cache.columns import Floats
from stowplan.config.args.trimaran import LowRiskOverCommitmentArgs
from stowplan.optional_plugins.base.requests import effective_amounts, effective_request
from stowplan.optional_plugins.trimaran.beta_distribution import beta_distribution
from stowplan.optional_plugins.trimaran.load import LoadSnapshot, NodeLoad, Usage
from stowplan.optional_plugins.trimaran.plugin import LoadScorePlugin

_RESOURCES = ("cpu", "memory")
_MAX_VARIANCE_SHARE = 0.99
"""Of the largest variance that a distribution over 0..1 can have."""
_MIN_DEVIATION = 1e-9
"""A smaller one counts as none: the parameters of its distribution exceed what a float can hold."""


class LowRiskOverCommitment(LoadScorePlugin):
    """Score: 100 x (1 - risk) of the riskier resource. The risk is the weighted mean of the risk by limits, which
    depends on the pod, and the risk by load, which does not."""

    name = "LowRiskOverCommitment"
    fact_count = 8
    follows_pods = True
    args: LowRiskOverCommitmentArgs

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        """Nothing to prepare. Implemented since configurations enable it."""

    def facts(self, node: fwk.NodeInfo, load: NodeLoad, snapshot: LoadSnapshot) -> Sequence[float] | None:
        """For cpu and memory: requests and limits of the node's pods, allocatable amount, risk by load."""
        if load.cpu is None and load.memory is None:
            return None
        facts: list[float] = []
        for index, (name, usage) in enumerate(zip(_RESOURCES, (load.cpu, load.memory), strict=True)):
            needs = [_requests_and_limits(pod.template)[index] for pod in node.pods.values()]
            request, limit = sum(request for request, _ in needs), sum(limit for _, limit in needs)
            capacity = node.allocatable.get(name, 0)
            facts += (request, limit, capacity, self._load_risk(usage, request, limit, capacity))
        return facts

    def scores(self, template: fwk.PodTemplate, facts: Floats) -> Floats:
        risks = []
        for index, name in enumerate(_RESOURCES):
            request, limit = _requests_and_limits(template)[index]
            if not request and not limit and not any(_requests_and_limits(template)[1 - index]):
                return np.zeros(facts.shape[1])  # Best effort.
            requests, limits, capacity, load_risk = facts[4 * index : 4 * index + 4]
            total_limit = limits + limit
            total_request = np.minimum(requests + request, capacity)
            limit_risk = np.where(total_limit > capacity, (total_limit - capacity) / (total_limit - total_request), 0.0)
            weight = self.args.risk_limit_weights[name]
            risks.append(np.clip(weight * limit_risk + (1 - weight) * load_risk, 0.0, 1.0))
        worst: Floats = np.maximum(*risks)
        return 100 * (1 - worst)

    def _load_risk(self, usage: Usage | None, request: int, limit: int, capacity: int) -> float:
        """The probability that more is used than the pods of the node request."""
        if usage is None or not capacity:
            return 0.0
        mean = min(usage.average / 100, 1.0)
        deviation = min(usage.deviation / 100, 1.0) * sqrt(self.args.smoothing_window_size)
        deviation = min(deviation, sqrt(_MAX_VARIANCE_SHARE * mean * (1 - mean)))
        threshold = min(request, capacity) / capacity
        distribution = None
        constant = deviation < _MIN_DEVIATION
        if mean == 0 or (constant and mean <= threshold):
            probability = 1.0
        elif constant:
            probability = 0.0
        else:
            distribution = beta_distribution(mean, deviation)
            probability = 0.0 if distribution is None else distribution.probability(threshold)
        if limit < capacity and request <= limit:
            if limit == 0:
                probability = 1.0
            elif distribution is not None and (below_limit := distribution.probability(limit / capacity)) > 0:
                probability = min(probability / below_limit, 1.0)
        return 1 - probability

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        load = self.load_of(node)
        facts = None if load is None or self._snapshot is None else self.facts(node, load, self._snapshot)
        if facts is None:
            return "has no load metrics"
        return f"more than requested is used with {100 * facts[3]:.0f} % (cpu) and {100 * facts[7]:.0f} % (memory)"


def _requests_and_limits(template: fwk.PodTemplate) -> tuple[tuple[int, int], ...]:
    """(request, limit) for cpu and memory; a limit is at least the request."""
    return template.derive(_requests_and_limits, _make_requests_and_limits)


def _make_requests_and_limits(template: fwk.PodTemplate) -> tuple[tuple[int, int], ...]:
    limits = effective_amounts(template.spec, lambda container: container.resources.limits)
    requests = effective_request(template)
    return tuple((requests.get(name, 0), max(requests.get(name, 0), limits.get(name, 0))) for name in _RESOURCES)
