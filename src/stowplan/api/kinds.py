"""The kinds that are read: their structs, groups, plurals and lists in cases for `evaluate`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from stowplan.api import codec
from stowplan.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from stowplan.api.batch import CronJob, Job
from stowplan.api.core import Event, Lease, Namespace, PriorityClass, ReplicationController, Service
from stowplan.api.coscheduling import CoschedulingPodGroup
from stowplan.api.device import DeviceClass, DeviceTaintRule, ResourceSlice
from stowplan.api.elastic_quota import ElasticQuota
from stowplan.api.limits import HorizontalPodAutoscaler, LimitRange, ResourceQuota
from stowplan.api.meta import Wire
from stowplan.api.node import Node
from stowplan.api.node_resource_topology import NodeResourceTopology
from stowplan.api.pod import Pod
from stowplan.api.pod_group import PodGroup, Workload
from stowplan.api.policy import PodDisruptionBudget
from stowplan.api.resource import ResourceClaim, ResourceClaimTemplate
from stowplan.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from stowplan.api.volumes import PersistentVolume, PersistentVolumeClaim

__all__ = ["CASE_LISTS", "KINDS", "Kind"]


class Kind(NamedTuple):
    """A kind of API object."""

    name: str
    struct: type[Wire]
    api_version: str
    resource: str
    """The plural in API paths."""
    namespaced: bool
    case_list: str | None
    """The list that holds such objects in a case for `evaluate`."""
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Converts plain data of an earlier API version to the shape of the struct; None if they have the same shape."""
    custom: bool = False
    """Whether a CustomResourceDefinition defines the kind, so that most clusters do not have it."""

    wire_name: str = ""
    """The kind in objects, if another kind has the same name."""

    @property
    def event_resource(self) -> str:
        """The name of a custom kind in cluster events: `elasticquotas.v1alpha1.scheduling.x-k8s.io`."""
        group, _, version = self.api_version.rpartition("/")
        return f"{self.resource}.{version}.{group}"

    def decode(self, data: bytes) -> Wire:
        """An object from JSON. Raises DecodeError."""
        if self.upgrade is None:
            return codec.decode(self.struct, data)
        try:
            return codec.convert(self.struct, self.upgrade(codec.whole(data)))
        except (AttributeError, TypeError) as error:
            raise codec.DecodeError(f"$: {error}") from error


_RESOURCE = "resource.k8s.io/v1"
_STORAGE = "storage.k8s.io/v1"
_SCHEDULING_ALPHA = "scheduling.k8s.io/v1alpha2"

_KINDS = (
    Kind("Pod", Pod, "v1", "pods", True, "pods"),
    Kind("Node", Node, "v1", "nodes", False, "nodes"),
    Kind("Namespace", Namespace, "v1", "namespaces", False, "namespaces"),
    Kind("Service", Service, "v1", "services", True, "services"),
    Kind("ReplicaSet", ReplicaSet, "apps/v1", "replicasets", True, "replicasets"),
    Kind(
        "ReplicationController",
        ReplicationController,
        "v1",
        "replicationcontrollers",
        True,
        "replicationcontrollers",
    ),
    Kind("StatefulSet", StatefulSet, "apps/v1", "statefulsets", True, "statefulsets"),
    Kind("PersistentVolumeClaim", PersistentVolumeClaim, "v1", "persistentvolumeclaims", True, "pvcs"),
    Kind("PersistentVolume", PersistentVolume, "v1", "persistentvolumes", False, "pvs"),
    Kind("StorageClass", StorageClass, _STORAGE, "storageclasses", False, "storageclasses"),
    Kind("CSINode", CSINode, _STORAGE, "csinodes", False, "csinodes"),
    Kind("CSIDriver", CSIDriver, _STORAGE, "csidrivers", False, "csidrivers"),
    Kind("CSIStorageCapacity", CSIStorageCapacity, _STORAGE, "csistoragecapacities", True, "csistoragecapacities"),
    Kind("VolumeAttachment", VolumeAttachment, _STORAGE, "volumeattachments", False, "volumeattachments"),
    Kind("PodDisruptionBudget", PodDisruptionBudget, "policy/v1", "poddisruptionbudgets", True, "pdbs"),
    Kind("ResourceClaim", ResourceClaim, _RESOURCE, "resourceclaims", True, "resourceclaims"),
    Kind(
        "ResourceClaimTemplate",
        ResourceClaimTemplate,
        _RESOURCE,
        "resourceclaimtemplates",
        True,
        "resourceclaimtemplates",
    ),
    Kind("DeviceClass", DeviceClass, _RESOURCE, "deviceclasses", False, "deviceclasses"),
    Kind("ResourceSlice", ResourceSlice, _RESOURCE, "resourceslices", False, "resourceslices"),
    Kind("DeviceTaintRule", DeviceTaintRule, "resource.k8s.io/v1beta2", "devicetaintrules", False, None),
    Kind("Deployment", Deployment, "apps/v1", "deployments", True, None),
    Kind("DaemonSet", DaemonSet, "apps/v1", "daemonsets", True, None),
    Kind("Job", Job, "batch/v1", "jobs", True, None),
    Kind("CronJob", CronJob, "batch/v1", "cronjobs", True, None),
    Kind("PriorityClass", PriorityClass, "scheduling.k8s.io/v1", "priorityclasses", False, "priorityclasses"),
    Kind("PodGroup", PodGroup, _SCHEDULING_ALPHA, "podgroups", True, None),
    Kind("Workload", Workload, _SCHEDULING_ALPHA, "workloads", True, None),
    Kind("LimitRange", LimitRange, "v1", "limitranges", True, None),
    Kind("ResourceQuota", ResourceQuota, "v1", "resourcequotas", True, None),
    Kind(
        "HorizontalPodAutoscaler",
        HorizontalPodAutoscaler,
        "autoscaling/v2",
        "horizontalpodautoscalers",
        True,
        None,
    ),
    Kind(
        "CoschedulingPodGroup",
        CoschedulingPodGroup,
        "scheduling.x-k8s.io/v1alpha1",
        "podgroups",
        True,
        "coschedulingpodgroups",
        custom=True,
        wire_name="PodGroup",
    ),
    Kind(
        "ElasticQuota",
        ElasticQuota,
        "scheduling.x-k8s.io/v1alpha1",
        "elasticquotas",
        True,
        "elasticquotas",
        custom=True,
    ),
    Kind(
        "NodeResourceTopology",
        NodeResourceTopology,
        "topology.node.k8s.io/v1alpha2",
        "noderesourcetopologies",
        False,
        "noderesourcetopologies",
        custom=True,
    ),
    Kind("Lease", Lease, "coordination.k8s.io/v1", "leases", True, None),
    Kind("Event", Event, "events.k8s.io/v1", "events", True, None),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}
"""All kinds by name."""

CASE_LISTS: dict[str, Kind] = {kind.case_list: kind for kind in _KINDS if kind.case_list}
"""The kinds by the list that holds them in a case for `evaluate`."""
