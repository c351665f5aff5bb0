"""Extended resources that a device class stands behind: on nodes that offer none as such, devices may serve them."""

from __future__ import annotations

from stowplan import api
from stowplan.api.quantity import value
from stowplan.cache import Cluster
from stowplan.cache.device_classes import IMPLICIT_PREFIX, backing_device_class
from stowplan.cache.requests import is_extended_resource
from stowplan.framework import NodeInfo, Pod, PodTemplate, Status
from stowplan.plugins.dynamic_resources.claims import PodClaims
from stowplan.plugins.dynamic_resources.reasons import NOT_OFFERED, STALE

UNWRITTEN = "<extended-resources>"
"""The name of the special claim until it is written; no claim of the API can be called that."""

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def requested(template: PodTemplate) -> tuple[str, ...]:
    """The extended resources that a pod asks for, in which a device class may have a part."""
    return template.derive("DynamicResources.requested", _requested)


def backed(cluster: Cluster, template: PodTemplate) -> dict[str, bool]:
    """The same, and whether a device class stands behind each of them."""
    return {name: backing_device_class(cluster, name) is not None for name in requested(template)}


def special_claim(cluster: Cluster, pod: Pod) -> api.ResourceClaim:
    """The claim for all of a pod's extended resources: one left by an earlier attempt, or a fresh one to be filled."""
    for claim in cluster.stores.of(api.ResourceClaim):
        if claim.metadata.annotations.get(ANNOTATION) == "true" and any(
            owner.controller and owner.uid == pod.uid and owner.name == pod.name
            for owner in claim.metadata.owner_references
        ):
            return claim
    return api.ResourceClaim(metadata=api.ObjectMeta(namespace=pod.namespace, name=UNWRITTEN))


def is_written(claim: api.ResourceClaim) -> bool:
    return claim.metadata.name != UNWRITTEN


def needs_devices(claims: PodClaims, node: NodeInfo) -> bool | Status:
    """Whether devices of the node must serve extended resources, which it does not offer as such."""
    if claims.special is None:
        return False
    claim = claims.special.claim
    if claim.spec.devices.requests:
        return STALE
    offered = node.node.status.allocatable
    needed = False
    for name, has_class in claims.extended.items():
        if has_class and not value(offered.get(name, 0)):
            needed = True
        elif name not in offered:
            return NOT_OFFERED
    return needed and claim.status.allocation is None


def _requested(template: PodTemplate) -> tuple[str, ...]:
    return tuple(
        name
        for name, amount in template.requests.items()
        if amount and (is_extended_resource(name) or name.startswith(IMPLICIT_PREFIX))
    )
