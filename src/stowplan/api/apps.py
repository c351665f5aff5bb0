"""The group apps. Selectors are used by default spreading, templates by the simulator.

Upstream: k8s.io/api/apps/v1/types.go
"""

from stowplan.api.meta import Condition, Int32, LabelSelector, ObjectMeta, Wire
from stowplan.api.pod import PodTemplateSpec
from stowplan.api.volumes import PersistentVolumeClaim

__all__ = [
    "DaemonSet", "DaemonSetSpec", "Deployment", "DeploymentSpec", "ReplicaSet", "ReplicaSetSpec", "ReplicaSetStatus",
    "StatefulSet", "StatefulSetOrdinals", "StatefulSetSpec",
]  # fmt: skip


class DeploymentSpec(Wire, frozen=True, kw_only=True):
    """The pods of a deployment."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Deployment(Wire, frozen=True, kw_only=True):
    """A deployment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()


class ReplicaSetSpec(Wire, frozen=True, kw_only=True):
    """The pods of a replica set."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSetStatus(Wire, frozen=True, kw_only=True):
    """The number of pods that exist, and whether creating the others failed."""

    replicas: Int32 = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(Wire, frozen=True, kw_only=True):
    """A replica set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class StatefulSetOrdinals(Wire, frozen=True, kw_only=True):
    """The numbering of the pods of a stateful set."""

    start: Int32 = 0


class StatefulSetSpec(Wire, frozen=True, kw_only=True):
    """The pods of a stateful set, and the claim templates."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    pod_management_policy: str = ""
    ordinals: StatefulSetOrdinals | None = None


class StatefulSet(Wire, frozen=True, kw_only=True):
    """A stateful set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(Wire, frozen=True, kw_only=True):
    """The pod template of a daemon set."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Wire, frozen=True, kw_only=True):
    """A daemon set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()
