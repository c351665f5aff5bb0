"""How much can be simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.ownership import Ownership, describe
from stowplan.simulator.workloads.jobs import pods_at_once
from stowplan.simulator.workloads.replicas import replicas_of

MAX_PODS = 200_000

_WANTED: dict[type[Any], tuple[str, Callable[[Any], int]]] = {
    api.Deployment: ("$.spec.replicas", replicas_of),
    api.ReplicaSet: ("$.spec.replicas", replicas_of),
    api.ReplicationController: ("$.spec.replicas", replicas_of),
    api.StatefulSet: ("$.spec.replicas", replicas_of),
    api.Job: ("$.spec.parallelism", pods_at_once),
    api.CronJob: ("$.spec.jobTemplate.spec.parallelism", lambda item: pods_at_once(item.spec.job_template)),
}
"""How many pods a workload is to have, and where that stands."""


def problems(ownership: Ownership) -> Iterator[str]:
    """Workloads that ask for more pods than can be simulated, alone or all together."""
    nodes = sum(isinstance(item, api.Node) for item, _ in ownership.objects)
    total = 0
    for item, origin in ownership.objects:
        path, wanted = "$", 0
        if type(item) in _WANTED:
            path, wanted_by = _WANTED[type(item)]
            wanted = wanted_by(item)
        elif isinstance(item, api.DaemonSet):
            wanted = nodes
        elif isinstance(item, api.Pod):
            wanted = 1
        if wanted > MAX_PODS:
            yield origin.tell(f"{path}: {wanted} pods, and no more than {MAX_PODS} can be simulated")
        elif ownership.owner_of(item) is None:
            total += wanted
            if total > MAX_PODS >= total - wanted:
                too_many = f"with {describe(item)} the input has more than the {MAX_PODS} pods that can be simulated"
                yield origin.tell(f"{path}: {too_many}")
