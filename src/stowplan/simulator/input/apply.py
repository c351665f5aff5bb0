"""Manifests applied to the objects of a cluster, as by `kubectl apply`.

Fields that the API server or a controller sets are kept, such as a pod's node, and replicas if a manifest omits them. A
workload with another pod template loses all its pods at once, and new ones are created.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.ownership import Objects, count_of, describe, listed
from stowplan.simulator.input.rollout import Dependents, has_same_template
from stowplan.simulator.workloads import CONTROLLERS

_CLUSTER = Origin("cluster")

_KEPT: dict[type[Any], tuple[str, ...]] = {
    api.Pod: ("node_name",),
    api.Node: ("taints", "unschedulable"),
    api.PersistentVolume: ("claim_ref",),
    api.PersistentVolumeClaim: ("volume_name", "storage_class_name"),
    **{kind: ("replicas",) for kind, controller in CONTROLLERS.items() if controller.has_replicas},
}
"""Fields of specs that keep the cluster's value if a manifest omits them."""


class LiveObjects(NamedTuple):
    """The current objects of a cluster."""

    items: list[Any]
    schedulers: Collection[str]
    """The schedulerNames of our profiles."""
    namespace: str = DEFAULT_NAMESPACE
    """Namespace of manifests without one."""


class Applied(NamedTuple):
    """A cluster with manifests applied to it."""

    objects: Objects
    """Objects of the cluster first, with its pods last and by age; then objects of the manifests."""
    preexisting: frozenset[str]
    """The uids of objects that no manifest changes."""
    notes: list[str]


def apply(live: LiveObjects, given: Objects) -> Applied:
    """Apply objects to a cluster."""
    stored = {_key(item): item for item in live.items}
    dependents = Dependents(live.items)
    applied: Objects = []
    updated: dict[str, list[str]] = {}
    gone: set[str] = set()
    notes: list[str] = []
    for item, origin in given:
        old = stored.pop(_key(item), None)
        if old is not None:
            item = _applied(old, item)
            updated.setdefault(type(item).__name__, []).append(key_of(item.metadata))
            item, outdated, changes = _rolled_out(old, item, dependents)
            gone |= outdated
            notes += changes
        applied.append((item, origin))
    if updated:
        known = ", ".join(listed(kind, names) for kind, names in sorted(updated.items()))
        notes.insert(0, f"in the cluster already, and updated by the manifests: {known}")
    foreign = [pod for pod in stored.values() if _is_foreign(pod, live.schedulers)]
    notes += _foreign_notes(foreign)
    gone.update(pod.metadata.uid for pod in foreign)
    left = [item for item in stored.values() if item.metadata.uid not in gone]
    left.sort(key=lambda item: (True, item.metadata.creation_timestamp) if isinstance(item, api.Pod) else (False, ""))
    preexisting = frozenset(item.metadata.uid for item in left)
    return Applied([*((item, _CLUSTER) for item in left), *applied], preexisting, notes)


def roll_out(given: Objects, overlaid: list[tuple[Any, Any]]) -> Applied:
    """Objects of files without the pods that overlays of their workloads replace; `overlaid` are (old, new) objects."""
    if not overlaid:
        return Applied(given, frozenset(), [])
    dependents = Dependents(item for item, _ in given)
    gone: set[str] = set()
    notes: list[str] = []
    for old, new in overlaid:
        _, outdated, changes = _rolled_out(old, new, dependents)
        gone |= outdated
        notes += changes
    return Applied([each for each in given if each[0].metadata.uid not in gone], frozenset(), notes)


def _applied(old: Any, new: Any) -> Any:
    """The object of a manifest with the fields of the cluster's object that it keeps."""
    metadata = replace(
        new.metadata,
        uid=old.metadata.uid,
        creation_timestamp=old.metadata.creation_timestamp,
        deletion_timestamp=old.metadata.deletion_timestamp,
        labels={**old.metadata.labels, **new.metadata.labels},
        annotations={**old.metadata.annotations, **new.metadata.annotations},
        owner_references=new.metadata.owner_references or old.metadata.owner_references,
    )
    changes: dict[str, Any] = {"metadata": metadata}
    if type(new) in _KEPT:
        omitted = type(new.spec)()
        fields = [name for name in _KEPT[type(new)] if getattr(new.spec, name) == getattr(omitted, name)]
        changes["spec"] = replace(new.spec, **{name: getattr(old.spec, name) for name in fields})
    if hasattr(new, "status") and new.status == type(new.status)():
        changes["status"] = old.status
    return replace(new, **changes)


def _rolled_out(old: Any, new: Any, dependents: Dependents) -> tuple[Any, set[str], list[str]]:
    """The updated workload, the uids of objects that the update deletes, and notes for the user."""
    pods = dependents.pods_below(old.metadata.uid)
    controller = CONTROLLERS.get(type(new))
    if controller is None or not controller.rolls_out:
        return new, set(), []
    if not has_same_template(old, new):
        notes = [
            f"{describe(new)} gets another pod template, so {count_of(len(pods), 'pod')} will be replaced, all at once"
        ]
        return new, dependents.below(old.metadata.uid), notes if pods else []
    new = replace(new, spec=replace(new.spec, template=old.spec.template))
    surplus = 0 if controller.one_per_node else len(pods) - controller.desired_pods(new)
    notes = [f"{describe(new)} has {count_of(surplus, 'pod')} more than it asks for; scaling down is not simulated"]
    return new, set(), notes if surplus > 0 else []


def _is_foreign(item: Any, schedulers: Collection[str]) -> bool:
    """Whether this is a pending pod of another scheduler."""
    return isinstance(item, api.Pod) and not item.spec.node_name and item.spec.scheduler_name not in schedulers


def _foreign_notes(pods: list[api.Pod]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for pod in pods:
        names.setdefault(pod.spec.scheduler_name, []).append(key_of(pod.metadata))
    for scheduler, waiting in sorted(names.items()):
        yield f'pending pods of schedulerName "{scheduler}", not scheduled: {listed("pod", waiting)}'


def _key(item: Any) -> tuple[type[Any], str]:
    return type(item), key_of(item.metadata)
