"""The group storage.k8s.io.

Upstream: k8s.io/api/storage/v1/types.go
"""

from msgspec import field

from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, Quantity, Wire
from stowplan.api.read_only import EMPTY
from stowplan.api.volumes import PersistentVolumeSpec

__all__ = [
    "CSIDriver", "CSIDriverSpec", "CSINode", "CSINodeDriver", "CSINodeSpec", "CSIStorageCapacity", "StorageClass",
    "TopologySelectorLabelRequirement", "TopologySelectorTerm", "VolumeAttachment", "VolumeAttachmentSource",
    "VolumeAttachmentSpec", "VolumeNodeResources",
]  # fmt: skip


class TopologySelectorLabelRequirement(Wire, frozen=True, kw_only=True):
    """A node label and its allowed values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire, frozen=True, kw_only=True):
    """Label requirements that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Wire, frozen=True, kw_only=True):
    """A storage class."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = EMPTY
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Wire, frozen=True, kw_only=True):
    """The attach limit of a driver on a node; no count means no limit."""

    count: Int32 | None = None


class CSINodeDriver(Wire, frozen=True, kw_only=True):
    """A CSI driver as installed on a node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Wire, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Wire, frozen=True, kw_only=True):
    """The CSI drivers of the node of the same name. An annotation has the migrated in-tree plugins."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Wire, frozen=True, kw_only=True):
    """The spec of a CSI driver."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Wire, frozen=True, kw_only=True):
    """A CSI driver in the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Wire, frozen=True, kw_only=True):
    """The remaining capacity of a storage class for the nodes of a topology segment."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Wire, frozen=True, kw_only=True):
    """The attached volume: a persistent volume by name, or an inline spec."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Wire, frozen=True, kw_only=True):
    """Driver, node and volume of an attachment."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Wire, frozen=True, kw_only=True):
    """An attachment of a volume to a node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
