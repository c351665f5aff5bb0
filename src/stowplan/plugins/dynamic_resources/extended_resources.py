"""Extended resources backed by device classes: devices serve them on nodes whose allocatable does not have them.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
"""

from __future__ import annotations

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.quantity import value
from stowplan.cache import Cluster
from stowplan.cache.device_classes import IMPLICIT_PREFIX, backing_device_class
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import is_extended_resource
from stowplan.plugins.dynamic_resources.assume_cache import SPECIAL_CLAIM, tracker_of
from stowplan.plugins.dynamic_resources.claims import PodClaims
from stowplan.plugins.dynamic_resources.reasons import NOT_OFFERED, STALE

UNWRITTEN = "<extended-resources>"
"""The name of the special claim until it is written; not a valid name in the API."""

NeededDevices = tuple[tuple[str, ...], fwk.Mask | None]
"""Extended resources that devices must serve, and the nodes of which that is true; None: all of them."""

_MAX_GROUPED_RESOURCES = 8
"""Extended resources of a pod by which nodes are grouped; with more, there could be hundreds of groups."""


def requested(template: fwk.PodTemplate) -> tuple[str, ...]:
    """The extended resources of a pod, which a device class may back."""
    return template.derive("DynamicResources.requested", _requested)


def backed(cluster: Cluster, template: fwk.PodTemplate) -> dict[str, bool]:
    """The extended resources of a pod, and whether a device class backs each."""
    return {name: backing_device_class(cluster, name) is not None for name in requested(template)}


def special_claim(cluster: Cluster, pod: fwk.Pod) -> api.ResourceClaim:
    """The special claim of a pod: that of an earlier attempt, or a new one."""
    earlier = tracker_of(cluster).special(pod)
    if earlier is not None:
        return earlier
    owner = api.OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = api.ObjectMeta(
        namespace=pod.namespace,
        name=UNWRITTEN,
        generate_name=f"{pod.name}-extended-resources-",
        # The identity of the claim until it is written.
        uid=f"{pod.uid}/{UNWRITTEN}",
        annotations={SPECIAL_CLAIM: "true"},
        owner_references=(owner,),
    )
    return api.ResourceClaim(metadata=metadata)


def is_written(claim: api.ResourceClaim) -> bool:
    return claim.metadata.name != UNWRITTEN


def needed_devices(claims: PodClaims, node: fwk.NodeInfo) -> tuple[str, ...] | fwk.Status:
    """The extended resources that devices must serve on a node, since its allocatable does not have them."""
    if claims.special is None:
        return ()
    claim = claims.special.claim
    if claim.spec.devices.requests:
        return STALE
    offered = node.node.status.allocatable
    needed: list[str] = []
    for name, has_class in claims.extended.items():
        if has_class and not value(offered.get(name, 0)):
            needed.append(name)
        elif name not in offered:
            return NOT_OFFERED
    return () if claim.status.allocation is not None else tuple(needed)


def by_needed_devices(claims: PodClaims, table: NodeTable, nodes: fwk.Nodes) -> list[NeededDevices] | None:
    """`needed_devices` of many nodes, which most pods have alike; None for claims that need a look at each node."""
    if claims.special is None:
        return [((), None)]
    claim, names = claims.special.claim, tuple(claims.extended)
    if claim.spec.devices.requests or claim.status.allocation is not None or not all(claims.extended.values()):
        return None
    if len(names) > _MAX_GROUPED_RESOURCES:
        return None
    lacking = np.zeros(len(nodes), dtype=np.intp)
    for number, name in enumerate(names):
        lacking |= (nodes.read(table.resource(name)[0].array) == 0).astype(np.intp) << number
    return [
        (tuple(name for number, name in enumerate(names) if kind >> number & 1), lacking == kind)
        for kind in np.unique(lacking).tolist()
    ]


def _requested(template: fwk.PodTemplate) -> tuple[str, ...]:
    return tuple(
        name
        for name, amount in template.requests.items()
        if amount and (is_extended_resource(name) or name.startswith(IMPLICIT_PREFIX))
    )
