"""Volumes for several plugins: the claim of a pod's volume, storage classes, in-tree sources as CSI.

The in-tree plugins of cloud disks have migrated to CSI drivers. If a node's CSINode lists the driver, a volume of such
a plugin counts as a volume of the driver, under the driver's handle.

Upstream: k8s.io/csi-translation-lib/translate.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from stowplan import api
from stowplan.api.node_selectors import CompiledNodeSelector, CompiledTerm, compile_node_selector
from stowplan.api.volumes import AnyVolumeSource
from stowplan.errors import InputError
from stowplan.framework import Pod, PodTemplate

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
ZONE_DELIMITER = "__"
"""Between the zones of a volume that is in several of them."""

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


def claim_name(pod: Pod, volume: api.Volume) -> str | None:
    """The name of the claim behind a volume, which for an ephemeral one follows from the pod's; None for the rest."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return None if volume.ephemeral is None else f"{pod.name}-{volume.name}"


def uses_claim(pod: Pod, claim: api.PersistentVolumeClaim) -> bool:
    """Whether one of the pod's volumes, ephemeral or not, stands for the claim."""
    if claim.metadata.namespace != pod.namespace:
        return False
    return any(claim_name(pod, volume) == claim.metadata.name for volume in pod.spec.volumes)


def claim_names(pod: Pod) -> tuple[str, ...]:
    """The claims that the pod refers to by name, in the order of its volumes."""
    return pod.template.derive("claim names", _claim_names)


def _claim_names(template: PodTemplate) -> tuple[str, ...]:
    sources = (volume.persistent_volume_claim for volume in template.spec.volumes)
    return tuple(source.claim_name for source in sources if source is not None)


def not_owner(pod: Pod, claim: api.PersistentVolumeClaim) -> str | None:
    """The error for a claim with the name of an ephemeral volume's claim that was not created for this pod."""
    controller = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    if controller is not None and controller.uid == pod.uid:
        return None
    return f"PVC {claim.metadata.namespace}/{claim.metadata.name} was not created for pod {pod.key} (pod is not owner)"


def not_found(resource: str, name: str) -> str:
    """The API machinery's text for a missing object."""
    return f'{resource} "{name}" not found'


def storage_class_of(item: api.PersistentVolume | api.PersistentVolumeClaim) -> str:
    """The storage class of a volume or claim: the old annotation wins over the field; empty for none."""
    return item.metadata.annotations.get(STORAGE_CLASS, item.spec.storage_class_name or "")


def affinity_of(volume: api.PersistentVolume) -> CompiledNodeSelector | None:
    """The nodes from which a volume can be reached; None for all."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else compile_affinity(affinity.required)


@lru_cache(1 << 14)
def compile_affinity(required: api.NodeSelector) -> CompiledNodeSelector:
    """A volume's affinity, compiled. Fields of the node are not compared for volumes, only labels."""
    compiled = compile_node_selector(required)
    return CompiledNodeSelector(tuple(CompiledTerm(term.labels) for term in compiled.terms), compiled.error)


class Migration(NamedTuple):
    """An in-tree volume plugin, and the CSI driver that took its place."""

    attribute: str
    plugin: str
    driver: str
    complete: bool
    """Whether the scheduler takes every node with a CSINode to use the driver instead."""
    topology_key: str = ""
    """The node label that the driver has for zones, if its volumes are translated to it."""


MIGRATIONS = (
    Migration("gce_persistent_disk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", True, "topology.gke.io/zone"),
    Migration(
        "aws_elastic_block_store", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", True, "topology.ebs.csi.aws.com/zone"
    ),
    Migration(
        "cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", True, "topology.cinder.csi.openstack.org/zone"
    ),
    Migration("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com", True),
    Migration("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com", True),
    Migration("azure_file", "kubernetes.io/azure-file", "file.csi.azure.com", False),
    Migration("vsphere_volume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", False),
)

MIGRATION_OF_PLUGIN = {migration.plugin: migration for migration in MIGRATIONS}


class TranslationError(InputError):
    """An in-tree volume that cannot be translated to CSI, because its source is malformed."""


def migration_of(source: AnyVolumeSource) -> Migration | None:
    """The migration of an in-tree volume of a pod or a persistent volume; None if it has none."""
    for migration in MIGRATIONS:
        if getattr(source, migration.attribute) is not None:
            return migration
    return None


def csi_handle(source: AnyVolumeSource, zones: str = "") -> str:
    """The handle by which the CSI driver of a complete migration knows an in-tree volume.

    `zones` is the zone label of a persistent volume, which is part of the handle of Google's disks.
    """
    if source.gce_persistent_disk is not None:
        return _gce_handle(source.gce_persistent_disk.pd_name, zones)
    if source.aws_elastic_block_store is not None:
        return _ebs_handle(source.aws_elastic_block_store.volume_id)
    if source.azure_disk is not None:
        return source.azure_disk.disk_uri
    other = source.cinder if source.cinder is not None else source.portworx_volume
    assert other is not None
    return other.volume_id


def csi_handle_of(volume: api.PersistentVolume) -> str:
    """The handle of an in-tree persistent volume."""
    labels = volume.metadata.labels
    return csi_handle(volume.spec, labels.get(BETA_ZONE) or labels.get(ZONE, ""))


_match_ebs_id = re.compile("vol-[^/]*").fullmatch


def _ebs_handle(volume_id: str) -> str:
    """Bare, or out of `aws://zone/vol-...`."""
    if not volume_id.startswith("aws://"):
        return volume_id
    handle = urlsplit(volume_id).path.strip("/")
    if not _match_ebs_id(handle):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return handle


def _gce_handle(disk: str, zones: str) -> str:
    """The project is unknown here; several zones are represented by their region."""
    where = f"zones/{zones or 'UNSPECIFIED'}"
    if ZONE_DELIMITER in zones:
        where = f"regions/{_gce_region(zones.split(ZONE_DELIMITER))}"
    return f"projects/UNSPECIFIED/{where}/disks/{disk}"


def _gce_region(zones: Iterable[str]) -> str:
    regions = set()
    for zone in zones:
        region = zone.rpartition("-")[0]
        if region.count("-") != 1:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add(region)
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{found}]"
        )
    return regions.pop()
