"""Changes of a cluster's objects: scaled workloads, added nodes, references to objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.errors import InputError
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.identity import make_uid
from stowplan.simulator.input import Input, Origin
from stowplan.simulator.input.rollout import Dependents
from stowplan.simulator.report.use import label_key
from stowplan.simulator.what_if.references import TargetReference, parse_reference
from stowplan.simulator.workloads import CONTROLLERS

_HOSTNAME = "kubernetes.io/hostname"
_ADDED = Origin("added")


class UnknownObjectError(InputError):
    """A reference does not match any object."""


def find(items: Iterable[Any], reference: str, namespace: str) -> list[Any]:
    """The objects of a reference: a node's name, `KEY=VALUE` for nodes with a label, `Kind/name` or
    `namespace/Kind/name` with kubectl's names for kinds."""
    items = list(items)
    if "=" in reference:
        given, _, value = reference.partition("=")
        nodes = [item for item in items if isinstance(item, api.Node)]
        key = label_key(given, [node.metadata.labels for node in nodes])
        found = [node for node in nodes if node.metadata.labels.get(key) == value]
    else:
        wanted = parse_reference(reference if "/" in reference else f"Node/{reference}", namespace)
        found = [item for item in items if _is(item, wanted)]
    if not found:
        raise UnknownObjectError(f"{reference}: no such object")
    return found


def _is(item: Any, wanted: TargetReference) -> bool:
    metadata = item.metadata
    return (kind_of(item).name, metadata.name, metadata.namespace) == wanted


def with_nodes(given: Input, count: int, like: api.Node, prefix: str) -> Input:
    """The input with copies of a node, named `PREFIX-1`, `PREFIX-2`, …"""
    names = {item.metadata.name for item, _ in given.objects if isinstance(item, api.Node)}
    fresh = (name for number in range(1, len(names) + count + 1) if (name := f"{prefix}-{number}") not in names)
    added = [(_copy(like, next(fresh)), _ADDED) for _ in range(count)]
    return given._replace(objects=[*given.objects, *added])


def _copy(node: api.Node, name: str) -> api.Node:
    labels = {**node.metadata.labels, _HOSTNAME: name}
    metadata = api.ObjectMeta(
        name=name, uid=make_uid("Node", name, 0), labels=labels, annotations=node.metadata.annotations
    )
    return replace(node, metadata=metadata)


def scaled(given: Input, workload: Any, replicas: int) -> Input:
    """The input with another number of replicas. Surplus pods are removed: pending ones first, then the newest."""
    controller = CONTROLLERS.get(type(workload))
    if controller is None or not controller.has_replicas:
        raise InputError(f"{kind_of(workload).name} {key_of(workload.metadata)}: has no spec.replicas")
    if replicas < 0:
        raise InputError(f"{kind_of(workload).name} {key_of(workload.metadata)}: replicas must not be negative")
    dependents = Dependents(item for item, _ in given.objects)
    pods = dependents.pods_below(workload.metadata.uid)
    surplus = _surplus(pods, len(pods) - replicas)
    changed = dict(_resized(given, workload, replicas, surplus, dependents))
    objects = [
        (changed.get(item.metadata.uid, item), origin)
        for item, origin in given.objects
        if item.metadata.uid not in surplus
    ]
    return given._replace(objects=objects, preexisting=given.preexisting - changed.keys() - surplus)


def _surplus(pods: list[api.Pod], number: int) -> set[str]:
    newest_first = sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name), reverse=True)
    newest_first.sort(key=lambda pod: bool(pod.spec.node_name))
    return {pod.metadata.uid for pod in newest_first[: max(number, 0)]}


def _resized(
    given: Input, workload: Any, replicas: int, surplus: set[str], dependents: Dependents
) -> Iterator[tuple[str, Any]]:
    """The workload and its ReplicaSets with their new numbers of replicas, by uid."""
    yield workload.metadata.uid, replace(workload, spec=replace(workload.spec, replicas=replicas))
    below = dependents.below(workload.metadata.uid)
    for item, _ in given.objects:
        uid = item.metadata.uid
        if isinstance(item, api.ReplicaSet) and uid in below:
            kept = [pod for pod in dependents.pods_below(uid) if pod.metadata.uid not in surplus]
            # The Deployment's controller raises the number of the current ReplicaSet.
            size = min(len(kept), 1 if item.spec.replicas is None else item.spec.replicas)
            yield uid, replace(item, spec=replace(item.spec, replicas=size))
