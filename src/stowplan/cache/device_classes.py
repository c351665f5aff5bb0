"""Device classes that stand behind extended resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowplan import api

if TYPE_CHECKING:
    from stowplan.cache.cluster import Cluster

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every device class backs the extended resource of this prefix and its own name."""


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
    named = [c for c in classes if c.spec.extended_resource_name == resource]
    if not named:
        return None
    newest = max(c.metadata.creation_timestamp for c in named)
    return min((c for c in named if c.metadata.creation_timestamp == newest), key=lambda c: c.metadata.name)
