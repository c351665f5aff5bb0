"""Manifests laid over what a cluster has: what `kubectl apply` would make of both, and what follows for the pods.

What only the server or a controller fills in is kept, such as a pod's node, and the number of replicas where a manifest
leaves it open. A workload with another pod template loses the pods that it has, all at once, for new ones to be made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.documents import Origin
from stowplan.simulator.ownership import Objects, count_of, describe, listed
from stowplan.simulator.rollout import Dependents, has_same_template
from stowplan.simulator.workloads.replicas import replicas_of

_CLUSTER = Origin("cluster")

_KEPT: dict[type[Any], tuple[str, ...]] = {
    api.Pod: ("node_name",),
    api.Node: ("taints", "unschedulable"),
    api.Deployment: ("replicas",),
    api.ReplicaSet: ("replicas",),
    api.ReplicationController: ("replicas",),
    api.StatefulSet: ("replicas",),
    api.PersistentVolume: ("claim_ref",),
    api.PersistentVolumeClaim: ("volume_name", "storage_class_name"),
}
"""Fields of specs that stay as they are in the cluster where a manifest does not tell of them."""

_ROLLED_OUT = (api.Deployment, api.StatefulSet, api.DaemonSet)
"""Workloads that replace their pods when the template changes."""


class Live(NamedTuple):
    """A cluster as it is now."""

    items: list[Any]
    schedulers: Collection[str]
    """The names by which pods ask for one of our profiles."""
    namespace: str = DEFAULT_NAMESPACE
    """Of manifests that name none."""


class Apply(NamedTuple):
    """A cluster with manifests applied to it."""

    objects: Objects
    """Those of the cluster first, its pods after all others and by age; then those of the manifests."""
    standing: frozenset[str]
    """The uids of the objects that no manifest touches."""
    notes: list[str]


def lay_over(live: Live, given: Objects) -> Apply:
    """Apply these objects to a cluster."""
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
            item, outdated, told = _rolled_out(old, item, dependents)
            gone |= outdated
            notes += told
        applied.append((item, origin))
    if updated:
        known = ", ".join(listed(kind, names) for kind, names in sorted(updated.items()))
        notes.insert(0, f"in the cluster already, and updated by the manifests: {known}")
    foreign = [pod for pod in stored.values() if _is_foreign(pod, live.schedulers)]
    notes += _foreign_notes(foreign)
    gone.update(pod.metadata.uid for pod in foreign)
    left = [item for item in stored.values() if item.metadata.uid not in gone]
    left.sort(key=lambda item: (True, item.metadata.creation_timestamp) if isinstance(item, api.Pod) else (False, ""))
    standing = frozenset(item.metadata.uid for item in left)
    return Apply([*((item, _CLUSTER) for item in left), *applied], standing, notes)


def _applied(old: Any, new: Any) -> Any:
    """The object of a manifest in the place of the one that the cluster has."""
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
        untold = type(new.spec)()
        fields = [name for name in _KEPT[type(new)] if getattr(new.spec, name) == getattr(untold, name)]
        changes["spec"] = replace(new.spec, **{name: getattr(old.spec, name) for name in fields})
    if hasattr(new, "status") and new.status == type(new.status)():
        changes["status"] = old.status
    return replace(new, **changes)


def _rolled_out(old: Any, new: Any, dependents: Dependents) -> tuple[Any, set[str], list[str]]:
    """What an update of a workload is to be taken as, the uids of what goes with it, and what to tell about it."""
    pods = dependents.pods_below(old.metadata.uid)
    if not isinstance(new, _ROLLED_OUT):
        return new, set(), []
    if not has_same_template(old, new):
        told = [
            f"{describe(new)} gets another pod template, so {count_of(len(pods), 'pod')} will be replaced, all at once"
        ]
        return new, dependents.below(old.metadata.uid), told if pods else []
    new = replace(new, spec=replace(new.spec, template=old.spec.template))
    surplus = 0 if isinstance(new, api.DaemonSet) else len(pods) - replicas_of(new)
    told = [f"{describe(new)} has {count_of(surplus, 'pod')} more than it asks for; scaling down is not simulated"]
    return new, set(), told if surplus > 0 else []


def _is_foreign(item: Any, schedulers: Collection[str]) -> bool:
    """Whether this is a pod that waits for a scheduler which is not ours."""
    return isinstance(item, api.Pod) and not item.spec.node_name and item.spec.scheduler_name not in schedulers


def _foreign_notes(pods: list[api.Pod]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for pod in pods:
        names.setdefault(pod.spec.scheduler_name, []).append(key_of(pod.metadata))
    for scheduler, waiting in sorted(names.items()):
        yield f'pending, but left to schedulerName "{scheduler}": {listed("pod", waiting)}'


def _key(item: Any) -> tuple[type[Any], str]:
    return type(item), key_of(item.metadata)
