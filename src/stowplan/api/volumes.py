"""Volumes of pods, PersistentVolumes and PersistentVolumeClaims.

Upstream: k8s.io/api/core/v1/types.go
"""

from typing import TypeAlias

from msgspec import field

from stowplan.api.affinity import NodeSelector
from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, ObjectReference, ResourceList, Wire
from stowplan.api.read_only import EMPTY

__all__ = [
    "AWSElasticBlockStoreVolumeSource", "AnyVolumeSource", "AzureDiskVolumeSource", "AzureFileVolumeSource",
    "CSIPersistentVolumeSource", "CSIVolumeSource", "CinderVolumeSource", "EphemeralVolumeSource",
    "GCEPersistentDiskVolumeSource", "ISCSIVolumeSource", "ImageVolumeSource", "LocalVolumeSource",
    "PersistentVolume", "PersistentVolumeClaim", "PersistentVolumeClaimSpec", "PersistentVolumeClaimStatus",
    "PersistentVolumeClaimTemplate", "PersistentVolumeClaimVolumeSource", "PersistentVolumeSpec",
    "PersistentVolumeStatus", "PortworxVolumeSource", "RBDVolumeSource", "Volume", "VolumeNodeAffinity",
    "VolumeResourceRequirements", "VsphereVirtualDiskVolumeSource",
]  # fmt: skip


class GCEPersistentDiskVolumeSource(Wire, frozen=True, kw_only=True):
    """A Google persistent disk."""

    pd_name: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Wire, frozen=True, kw_only=True):
    """An EBS volume."""

    volume_id: str = field(default="", name="volumeID")
    partition: Int32 = 0
    read_only: bool = False


class RBDVolumeSource(Wire, frozen=True, kw_only=True):
    """A Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSIVolumeSource(Wire, frozen=True, kw_only=True):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class AzureDiskVolumeSource(Wire, frozen=True, kw_only=True):
    """An Azure data disk."""

    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    read_only: bool | None = None


class AzureFileVolumeSource(Wire, frozen=True, kw_only=True):
    """An Azure file share; only persistent volumes name the secret's namespace."""

    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None
    read_only: bool = False


class CinderVolumeSource(Wire, frozen=True, kw_only=True):
    """An OpenStack volume."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class PortworxVolumeSource(Wire, frozen=True, kw_only=True):
    """A Portworx volume."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class VsphereVirtualDiskVolumeSource(Wire, frozen=True, kw_only=True):
    """A vSphere virtual disk."""

    volume_path: str = ""


class LocalVolumeSource(Wire, frozen=True, kw_only=True):
    """A local volume of a node."""

    path: str = ""


class CSIVolumeSource(Wire, frozen=True, kw_only=True):
    """An inline volume of a CSI driver."""

    driver: str = ""
    read_only: bool | None = None


class CSIPersistentVolumeSource(Wire, frozen=True, kw_only=True):
    """A persistent volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = EMPTY


class ImageVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume whose content is a container image."""

    reference: str = ""


class PersistentVolumeClaimVolumeSource(Wire, frozen=True, kw_only=True):
    """A reference to a claim."""

    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(Wire, frozen=True, kw_only=True):
    """The requested storage of a claim."""

    requests: ResourceList = EMPTY
    limits: ResourceList = EMPTY


class PersistentVolumeClaimSpec(Wire, frozen=True, kw_only=True):
    """The spec of a claim, with the name of its volume."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Wire, frozen=True, kw_only=True):
    """The phase of a claim."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = EMPTY


class PersistentVolumeClaim(Wire, frozen=True, kw_only=True):
    """A claim of storage."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class PersistentVolumeClaimTemplate(Wire, frozen=True, kw_only=True):
    """The claim template of an ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume whose claim is created for the pod and deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Volume(Wire, frozen=True, kw_only=True):
    """A volume of a pod: a name and one of the sources that plugins read."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None


class VolumeNodeAffinity(Wire, frozen=True, kw_only=True):
    """The nodes that reach a persistent volume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True, kw_only=True):
    """Capacity, modes, class, claim and source of a persistent volume."""

    capacity: ResourceList = EMPTY
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    local: LocalVolumeSource | None = None
    csi: CSIPersistentVolumeSource | None = None


class PersistentVolumeStatus(Wire, frozen=True, kw_only=True):
    """The phase of a persistent volume."""

    phase: str = ""


class PersistentVolume(Wire, frozen=True, kw_only=True):
    """A persistent volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


AnyVolumeSource: TypeAlias = Volume | PersistentVolumeSpec
"""Both have the in-tree sources under the same attribute names."""
