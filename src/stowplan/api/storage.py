"""The group storage.k8s.io."""

from msgspec import field

from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, Quantity, Wire
from stowplan.api.volumes import PersistentVolumeSpec

__all__ = [
    "CSIDriver", "CSIDriverSpec", "CSINode", "CSINodeDriver", "CSINodeSpec", "CSIStorageCapacity", "StorageClass",
    "TopologySelectorLabelRequirement", "TopologySelectorTerm", "VolumeAttachment", "VolumeAttachmentSource",
    "VolumeAttachmentSpec", "VolumeNodeResources",
]  # fmt: skip


class TopologySelectorLabelRequirement(Wire, frozen=True, kw_only=True):
    """A node label and the values it may have."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire, frozen=True, kw_only=True):
    """Label requirements that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Wire, frozen=True, kw_only=True):
    """A way to provision volumes."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Wire, frozen=True, kw_only=True):
    """How many volumes of a driver a node can take; no count means no limit."""

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
    """What is known of CSI drivers on the node of the same name; annotations tell which plugins migrated."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Wire, frozen=True, kw_only=True):
    """Traits of a CSI driver."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Wire, frozen=True, kw_only=True):
    """A CSI driver in the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Wire, frozen=True, kw_only=True):
    """How much of a storage class is left for the nodes of a topology segment."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Wire, frozen=True, kw_only=True):
    """The attached volume: a persistent volume by name, or a spec of its own."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Wire, frozen=True, kw_only=True):
    """Which driver attaches what to which node."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Wire, frozen=True, kw_only=True):
    """An attachment of a volume to a node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
