"""The group apps: workloads whose selectors drive default spreading and whose templates can be simulated."""

from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, Wire
from stowplan.api.pod import PodTemplateSpec


class ReplicaSetSpec(Wire, frozen=True, kw_only=True):
    """The pods of a replica set."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(Wire, frozen=True, kw_only=True):
    """A replica set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(Wire, frozen=True, kw_only=True):
    """The pods of a stateful set."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class StatefulSet(Wire, frozen=True, kw_only=True):
    """A stateful set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()
