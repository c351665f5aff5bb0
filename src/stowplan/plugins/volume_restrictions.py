"""VolumeRestrictions: disks that only one pod on a node may write to, and ReadWriteOncePod claims.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache.volumes import claim_names, not_found
from stowplan.config.releases import Rules
from stowplan.plugins.base import InTreePlugin, explain_claims, in_words_with_owner, leave

NAME = "VolumeRestrictions"
STATE = "PreFilter" + NAME
USERS = "Explain" + NAME

DISK_CONFLICT = fwk.Status(fwk.Code.Unschedulable, "node(s) had no available disk", plugin=NAME)

CLAIM_CONFLICT = fwk.Status(fwk.Code.Unschedulable, Rules.read_write_once_pod, plugin=NAME)
"""The status since v1.34; v1.33 has another text."""

READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class ClaimConflicts:
    """The pod's ReadWriteOncePod claims, and the number of references to them by pods on nodes."""

    __slots__ = ("claims", "count")

    def __init__(self, claims: frozenset[str], count: int) -> None:
        self.claims = claims
        self.count = count

    def clone(self) -> ClaimConflicts:
        return ClaimConflicts(self.claims, self.count)

    def uses_of(self, pod: fwk.Pod) -> int:
        """The number of a pod's references to the claims, by name only: kube-scheduler does not compare namespaces
        here."""
        return sum(name in self.claims for name in claim_names(pod)) if self.claims else 0


class VolumeRestrictions(InTreePlugin):
    """Checks GCE, AWS, Ceph and iSCSI disks in the pod's spec, and the access mode of claims."""

    name = NAME
    reads = ("PersistentVolumeClaim",)

    def __init__(self, args: object, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self.claims = self.cluster.stores.of(api.PersistentVolumeClaim)
        reason = self.cluster.release.rules.read_write_once_pod
        self._claim_conflict = fwk.Status(fwk.Code.Unschedulable, reason, plugin=NAME)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        claims = any(volume.persistent_volume_claim is not None for volume in template.spec.volumes)
        return claims or bool(exclusive_disks(template))

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        claims = set()
        for name in claim_names(pod):
            claim = self.claims.get(name, pod.namespace)
            if claim is None:
                reason = not_found("persistentvolumeclaim", name)
                return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, reason, plugin=NAME)
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                claims.add(name)
        used = sum(f"{pod.namespace}/{name}" in self.cluster.claim_users for name in claims)
        if not used and not exclusive_disks(pod.template):
            return fwk.skip()
        state.write(STATE, ClaimConflicts(frozenset(claims), used))
        return None

    def add_pod(self, state: fwk.CycleState, pod: fwk.Pod, added: fwk.Pod, node: fwk.NodeInfo) -> None:
        conflicts: ClaimConflicts = state.read(STATE)
        conflicts.count += conflicts.uses_of(added)

    def remove_pod(self, state: fwk.CycleState, pod: fwk.Pod, removed: fwk.Pod, node: fwk.NodeInfo) -> None:
        conflicts: ClaimConflicts = state.read(STATE)
        conflicts.count -= conflicts.uses_of(removed)

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        disks = exclusive_disks(pod.template)
        if disks and any(disks_conflict(disks, other) for other in node.pods.values()):
            return DISK_CONFLICT
        return self._claim_conflict if state.read(STATE).count > 0 else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        taken = np.zeros(len(nodes), dtype=np.bool_)
        if disks := exclusive_disks(pod.template):
            for position, node in nodes.infos():
                taken[position] = any(disks_conflict(disks, other) for other in node.pods.values())
            yield taken, DISK_CONFLICT
        if state.read(STATE).count > 0:
            yield ~taken, self._claim_conflict

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        return explain_claims(self.cluster, pod, self.handle.now())

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        disks = exclusive_disks(pod.template)
        for disk in disks:
            others = [other for other in node.pods.values() if disks_conflict((disk,), other)]
            if others:
                yield self._disk_in_use(disk, others, pod)
                return
        for name in sorted(state.read(STATE).claims):
            users = self._users_of(state, pod, name)
            if users:
                yield self._claim_in_use(name, users, pod)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        disks = exclusive_disks(pod.template)
        taken = [_disk_in_words(disk) for disk in disks if any(disks_conflict((disk,), p) for p in node.pods.values())]
        wanted = [_disk_in_words(disk) for disk in disks]
        conflicts: ClaimConflicts | None = state.get(STATE)
        for name in sorted(conflicts.claims) if conflicts is not None else ():
            wanted.append(f"claim {name} alone")
            if users := self._users_of(state, pod, name):
                taken.append(f"claim {name}, by {users[0].key},")
        return fwk.Requirement(", ".join(wanted), f"{', '.join(taken)} in use" if taken else "free") if wanted else None

    def _disk_in_use(self, disk: api.Volume, others: list[fwk.Pod], pod: fwk.Pod) -> fwk.Refusal:
        name = _disk_in_words(disk)
        writing = any(not _read_only(each) for other in others for each in _same_disk(disk, other))
        who = ", ".join(in_words_with_owner(other) for other in others)
        use = "mounted for writing" if writing else "mounted"
        return fwk.Refusal(
            id="disk.in-use",
            reasons=DISK_CONFLICT.reasons,
            text=f"{name} is {use} by {who}",
            wanted=name,
            there=f"in use by {', '.join(other.key for other in others)}",
            rule=f"{name} free",
            facts={"disk": name, "pods": [other.key for other in others]},
            changes=(leave(self.cluster, pod, others),),
        )

    def _claim_in_use(self, name: str, users: list[fwk.Pod], pod: fwk.Pod) -> fwk.Refusal:
        who = ", ".join(f"{in_words_with_owner(user)} on {user.node_name}" for user in users)
        return fwk.Refusal(
            id="claim.exclusive",
            reasons=self._claim_conflict.reasons,
            text=f"claim {name} may be used by one pod at a time ({READ_WRITE_ONCE_POD}), and {who} uses it",
            wanted=f"claim {name} alone",
            there=f"used by {', '.join(user.key for user in users)}",
            rule=f"claim {name} free",
            facts={"claim": name, "pods": [user.key for user in users], "nodes": [user.node_name for user in users]},
            changes=(leave(self.cluster, pod, users),),
        )

    def _users_of(self, state: fwk.CycleState, pod: fwk.Pod, claim: str) -> list[fwk.Pod]:
        """The pods on nodes that use a claim of the pod, searched for once in a cycle."""
        found: dict[str, list[fwk.Pod]] | None = state.get(USERS)
        if found is None:
            found = {name: [] for name in state.read(STATE).claims}
            for info in self.nodes:
                users = [user for user in info.pods.values() if user.namespace == pod.namespace]
                for user in users:
                    for name in found.keys() & set(claim_names(user)) if user.spec.volumes else ():
                        found[name].append(user)
            state.write(USERS, found)
        return found.get(claim, [])

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete, self._after_pod_delete),
            fwk.on(fwk.EventResource.Node, fwk.Action.Add),
            fwk.on(fwk.EventResource.PersistentVolumeClaim, fwk.Action.Add, self._after_claim_add),
        )

    def _after_pod_delete(self, pod: fwk.Pod, old: fwk.Pod, new: None) -> fwk.QueueingHint:
        """Queue if a deleted pod of the namespace had one of the disks or claims; access modes are not compared."""
        if old.namespace != pod.namespace:
            return fwk.QueueingHint.QueueSkip
        disks = exclusive_disks(pod.template)
        frees = (disks and disks_conflict(disks, old)) or not set(claim_names(pod)).isdisjoint(claim_names(old))
        return fwk.QueueingHint.Queue if frees else fwk.QueueingHint.QueueSkip

    def _after_claim_add(self, pod: fwk.Pod, old: None, new: api.PersistentVolumeClaim) -> fwk.QueueingHint:
        own = new.metadata.namespace == pod.namespace and new.metadata.name in claim_names(pod)
        return fwk.QueueingHint.Queue if own else fwk.QueueingHint.QueueSkip


def exclusive_disks(template: fwk.PodTemplate) -> tuple[api.Volume, ...]:
    """The volumes in a pod's spec that can conflict with those of other pods on the node."""
    return template.derive((NAME, "disks"), _find_exclusive_disks) if template.spec.volumes else ()


def disks_conflict(disks: Iterable[api.Volume], other: fwk.Pod) -> bool:
    """Whether another pod uses one of the disks in a way that excludes a second user."""
    return any(_conflict(disk, theirs) for theirs in exclusive_disks(other.template) for disk in disks)


def _find_exclusive_disks(template: fwk.PodTemplate) -> tuple[api.Volume, ...]:
    return tuple(
        volume
        for volume in template.spec.volumes
        if volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    )


def _conflict(a: api.Volume, b: api.Volume) -> bool:
    """Two users of one disk conflict unless both only read. EBS volumes allow no second user."""
    if a.gce_persistent_disk is not None and b.gce_persistent_disk is not None:
        gce, other_gce = a.gce_persistent_disk, b.gce_persistent_disk
        return gce.pd_name == other_gce.pd_name and not (gce.read_only and other_gce.read_only)
    if a.aws_elastic_block_store is not None and b.aws_elastic_block_store is not None:
        return a.aws_elastic_block_store.volume_id == b.aws_elastic_block_store.volume_id
    if a.iscsi is not None and b.iscsi is not None:
        return a.iscsi.iqn == b.iscsi.iqn and not (a.iscsi.read_only and b.iscsi.read_only)
    if a.rbd is not None and b.rbd is not None:
        same_image = a.rbd.pool == b.rbd.pool and a.rbd.image == b.rbd.image
        shared = not set(a.rbd.monitors).isdisjoint(b.rbd.monitors)
        return same_image and shared and not (a.rbd.read_only and b.rbd.read_only)
    return False


def _disk_in_words(volume: api.Volume) -> str:
    if volume.gce_persistent_disk is not None:
        return f"GCE disk {volume.gce_persistent_disk.pd_name}"
    if volume.aws_elastic_block_store is not None:
        return f"EBS volume {volume.aws_elastic_block_store.volume_id}"
    if volume.iscsi is not None:
        return f"iSCSI disk {volume.iscsi.iqn}"
    return f"RBD image {volume.rbd.pool}/{volume.rbd.image}" if volume.rbd is not None else volume.name


def _same_disk(disk: api.Volume, other: fwk.Pod) -> list[api.Volume]:
    return [theirs for theirs in exclusive_disks(other.template) if _conflict(disk, theirs)]


def _read_only(volume: api.Volume) -> bool:
    disk = volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.iscsi or volume.rbd
    return disk is not None and disk.read_only
