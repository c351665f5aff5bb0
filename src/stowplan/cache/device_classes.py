"""Device classes that stand behind extended resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowplan import api
from stowplan.cache.stores import Store

if TYPE_CHECKING:
    from stowplan.cache.cluster import Cluster

ClassesByResource = dict[str, api.DeviceClass]

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every device class backs the extended resource of this prefix and its own name."""

_BY_RESOURCE = "device classes by extended resource"


def backing_device_class(cluster: Cluster, resource: str) -> api.DeviceClass | None:
    """The device class whose devices serve an extended resource; of several, the newest, then the first by name.

    None if the release has no extended resources by device class."""
    if not cluster.backs_extended_resources:
        return None
    classes = cluster.stores.of(api.DeviceClass)
    if resource.startswith(IMPLICIT_PREFIX):
        return classes.get(resource[len(IMPLICIT_PREFIX) :])
    if not len(classes):
        return None
    known: tuple[int, ClassesByResource] | None = cluster.shared.get(_BY_RESOURCE)
    if known is None or known[0] != classes.version:
        known = cluster.shared[_BY_RESOURCE] = (classes.version, _by_resource(classes))
    return known[1].get(resource)


def _by_resource(classes: Store[api.DeviceClass]) -> ClassesByResource:
    """The newest class of each extended resource, the first by name of equally old ones."""
    found: ClassesByResource = {}
    for each in sorted(classes, key=lambda c: c.metadata.name, reverse=True):
        resource = each.spec.extended_resource_name
        earlier = found.get(resource) if resource else None
        if resource and (earlier is None or each.metadata.creation_timestamp >= earlier.metadata.creation_timestamp):
            found[resource] = each
    return found
