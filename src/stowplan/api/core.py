"""The rest of the core group: namespaces, the selectors of services and replication controllers, bindings."""

from msgspec import field

from stowplan.api.meta import Int32, ObjectMeta, ObjectReference, Wire
from stowplan.api.pod import PodTemplateSpec


class Namespace(Wire, frozen=True, kw_only=True):
    """A namespace; only its labels are read."""

    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(Wire, frozen=True, kw_only=True):
    """The pods behind a service."""

    selector: dict[str, str] = field(default_factory=dict)


class Service(Wire, frozen=True, kw_only=True):
    """A service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Wire, frozen=True, kw_only=True):
    """The pods of a replication controller; unlike newer workloads it selects by a plain map."""

    replicas: Int32 | None = None
    selector: dict[str, str] = field(default_factory=dict)
    template: PodTemplateSpec | None = None


class ReplicationController(Wire, frozen=True, kw_only=True):
    """A replication controller."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class Binding(Wire, frozen=True, kw_only=True):
    """The order that puts a pod on a node."""

    metadata: ObjectMeta = ObjectMeta()
    target: ObjectReference = ObjectReference()
