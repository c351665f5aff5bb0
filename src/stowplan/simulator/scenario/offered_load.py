"""The offered load of a scenario: rate x request x duration over capacity, by resource."""

from __future__ import annotations

import math
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.api.quantity import milli_value, value
from stowplan.cache.requests import scheduling_requests
from stowplan.simulator.input.manifests import SIMULATED
from stowplan.simulator.scenario.reading import LoadedScenario
from stowplan.simulator.workloads.jobs import pods_at_once
from stowplan.simulator.workloads.table import pod_spec_of


def offered_load(scenario: LoadedScenario) -> dict[str, float]:
    """By resource; workloads whose rate or mean duration is unknown are left out, and so are traces."""
    capacity: dict[str, float] = {}
    for pool in scenario.pools:
        for name, amount in pool.template.status.allocatable.items():
            number = milli_value(amount) if name == "cpu" else value(amount)
            capacity[name] = capacity.get(name, 0.0) + number * pool.count
    used: dict[str, float] = {}
    for workload in scenario.workloads:
        pods = _pods_at_once(workload)
        if not math.isfinite(pods):
            continue
        for document in workload.documents:
            item: Any = codec.convert(SIMULATED[document["kind"]].struct, document)
            spec = pod_spec_of(item)
            if spec is None:
                continue
            each = max(item.spec.completions or 1, pods_at_once(item)) if isinstance(item, api.Job) else 1
            amounts, _ = scheduling_requests(spec)
            for name, amount in amounts.items():
                used[name] = used.get(name, 0.0) + amount * each * pods
    return {name: used[name] / whole for name, whole in capacity.items() if whole and name in used}


def _pods_at_once(workload: Any) -> float:
    """Pods of the workload that would run at the same time on an infinite cluster, on average."""
    if workload.arrivals is not None:
        if workload.duration is None:
            return math.nan
        return float(workload.arrivals.rate * workload.duration.mean)
    if workload.replicas is not None:
        return float(max((count for _, count in workload.replicas.steps), default=0))
    return 1.0
