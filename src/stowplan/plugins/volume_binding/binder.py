"""Decides which volumes a pod's claims are bound to on a node, and which volumes are provisioned.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE
from stowplan.plugins.volume_binding.claims import selected_node
from stowplan.plugins.volume_binding.matching import is_for
from stowplan.plugins.volume_binding.migration import migrated_plugins
from stowplan.plugins.volume_binding.pod_volumes import DelayedClaim, Lookup, PodVolumes
from stowplan.plugins.volume_binding.reasons import BIND_CONFLICT, NODE_CONFLICT, VOLUME_MISSING, failure, rejection


class VolumeDecision(NamedTuple):
    """Bindings and provisioning for a pod on the selected node (upstream: PodVolumes)."""

    bindings: tuple[tuple[api.PersistentVolumeClaim, api.PersistentVolume], ...] = ()
    """Claims with the existing volumes that they are bound to (StaticBindings)."""
    provisions: tuple[api.PersistentVolumeClaim, ...] = ()
    """Claims whose volume is provisioned (DynamicProvisions)."""


class Binder(Lookup):
    """Makes decisions, and assumes them until the API server has them (SchedulerVolumeBinder)."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.csi_nodes = cluster.stores.of(api.CSINode)

    def find(self, wanted: PodVolumes, node: fwk.NodeInfo) -> VolumeDecision | fwk.Status:
        """The decision for a node, or the status that rejects it (FindPodVolumes)."""
        conflict = self._check_bound(wanted, node)
        if isinstance(conflict, fwk.Status):
            return conflict
        if any(selected_node(delayed.claim) != node.name for delayed in wanted.provisioned):
            return rejection(conflict, BIND_CONFLICT)
        if wanted.problem:
            return failure(wanted.problem)
        bindings, unmatched = match_claims(wanted, node)
        to_provision = [*wanted.provisioned, *unmatched]
        refusal = next((r for delayed in to_provision if (r := delayed.refusal(node.labels))), None)
        if conflict or refusal:
            return rejection(conflict, refusal)
        return VolumeDecision(tuple(bindings), tuple(delayed.claim for delayed in to_provision))

    def assume(self, decision: VolumeDecision, node_name: str) -> VolumeDecision | fwk.Status:
        """Assume a decision (AssumePodVolumes): returns it with the assumed objects, or an error status."""
        bindings: list[tuple[api.PersistentVolumeClaim, api.PersistentVolume]] = []
        provisions: list[api.PersistentVolumeClaim] = []
        problem: str | None = None
        for claim, volume in decision.bindings:
            bound = bind(volume, claim)
            problem = None if bound is volume else self.volumes.assume(bound)
            if problem:
                break
            bindings.append((claim, bound))
        for claim in () if problem else decision.provisions:
            annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
            selected = replace(claim, metadata=replace(claim.metadata, annotations=annotations))
            problem = self.claims.assume(selected)
            if problem:
                break
            provisions.append(selected)
        assumed = VolumeDecision(tuple(bindings), tuple(provisions))
        if problem:
            self.restore(assumed)
            return failure(problem)
        return assumed

    def restore(self, assumed: VolumeDecision) -> None:
        """Drop an assumed decision (RevertAssumedPodVolumes)."""
        for _, volume in assumed.bindings:
            self.volumes.restore(volume)
        for claim in assumed.provisions:
            self.claims.restore(claim)

    def _check_bound(self, wanted: PodVolumes, node: fwk.NodeInfo) -> str | fwk.Status | None:
        """The first conflict of bound volumes with a node, None if there is none."""
        for volume in wanted.bound:
            affinity = volume.affinity
            if volume.migration is not None and self.migrated(volume.migration.plugin, node):
                if volume.untranslatable:
                    return failure(volume.untranslatable)
                affinity = volume.migrated_affinity
            if affinity is not None and not affinity.matches(node.labels, node.name):
                return NODE_CONFLICT
        return VOLUME_MISSING if wanted.missing else None

    def migrated(self, plugin: str, node: fwk.NodeInfo) -> bool:
        """Whether the node migrated an in-tree plugin to its CSI driver."""
        return plugin in migrated_plugins(self.csi_nodes.get(node.name)).split(",")


def bind(volume: api.PersistentVolume, claim: api.PersistentVolumeClaim) -> api.PersistentVolume:
    """The volume bound to the claim; the same object if it is bound already."""
    ref, annotations = volume.spec.claim_ref, volume.metadata.annotations
    if not is_for(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    if ref is None or not is_for(volume, claim) or ref.uid != claim.metadata.uid:
        ref = _reference(claim)
    if ref is volume.spec.claim_ref and annotations is volume.metadata.annotations:
        return volume
    return replace(
        volume, spec=replace(volume.spec, claim_ref=ref), metadata=replace(volume.metadata, annotations=annotations)
    )


def _reference(claim: api.PersistentVolumeClaim) -> api.ObjectReference:
    metadata = claim.metadata
    return api.ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def match_claims(
    wanted: PodVolumes, node: fwk.NodeInfo
) -> tuple[list[tuple[api.PersistentVolumeClaim, api.PersistentVolume]], list[DelayedClaim]]:
    """(claims with their volumes, claims without one); no volume is used twice."""
    bindings, unmatched = [], []
    chosen: set[str] = set()
    for delayed in wanted.unmatched:
        volume = None if delayed.candidates is None else delayed.candidates.find(node.labels, chosen)
        if volume is None:
            unmatched.append(delayed)
        else:
            chosen.add(volume.metadata.name)
            bindings.append((delayed.claim, volume))
    return bindings, unmatched
