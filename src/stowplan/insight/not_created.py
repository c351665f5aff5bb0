"""Pods that their controller could not create: a quota or another admission check refuses them, and no scheduler ever
receives them.

In a cluster the controllers of ReplicaSets report it as the condition ReplicaFailure; a simulation knows it itself.

Upstream: pkg/controller/replicaset/replica_set_utils.go (calculateStatus)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework.explanation import NotCreatedPods
from stowplan.insight.workloads import WorkloadReference

_REFUSED_POD = re.compile(r'^pods "[^"]*" is forbidden: ')
_OBJECTS_PER_SLICE = 1000


def not_created(workload: str, pods: int, wanted: int, message: str) -> NotCreatedPods:
    """The record, with its sentence. `workload` is `namespace/Kind/name`; empty for a pod without a controller."""
    cause = _REFUSED_POD.sub("", message) or "the controller reports no reason"
    were = "was" if pods == 1 else "were"
    sentence = f"{pods:,} of {wanted:,} pods {were} never created: {cause}"
    return NotCreatedPods(workload=workload, pods=pods, wanted=wanted, message=message, sentence=sentence)


def failed_replica_sets(cluster: Cluster) -> Iterator[NotCreatedPods | None]:
    """The pods that ReplicaSets lack by their status; None now and then, where a caller may pause."""
    for number, item in enumerate(list(cluster.stores.of(api.ReplicaSet))):
        if number % _OBJECTS_PER_SLICE == 0:
            yield None
        failure = next((each for each in item.status.conditions if each.type == "ReplicaFailure"), None)
        wanted = 1 if item.spec.replicas is None else item.spec.replicas
        lacking = wanted - item.status.replicas
        if failure is not None and failure.status == "True" and lacking > 0:
            yield not_created(_workload_of(item), lacking, wanted, failure.message)


def concerns(found: NotCreatedPods, namespace: str, reference: WorkloadReference | None) -> bool:
    """Whether the pods are of the namespace, if one is given, and of the workload, if one is given."""
    if reference is not None:
        return found.workload == f"{reference.namespace}/{reference.workload}"
    return not namespace or found.workload.startswith(f"{namespace}/")


def _workload_of(item: api.ReplicaSet) -> str:
    owner = next((owner for owner in item.metadata.owner_references if owner.controller), None)
    kind, name = ("ReplicaSet", item.metadata.name) if owner is None else (owner.kind, owner.name)
    return f"{item.metadata.namespace}/{kind}/{name}"
