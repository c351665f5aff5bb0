"""Objects of which little is read: namespaces, services, bindings, priority classes, leases, events.

Upstream: k8s.io/api/core/v1/types.go
"""

from stowplan.api.meta import Int32, ObjectMeta, ObjectReference, Wire
from stowplan.api.pod import PodTemplateSpec
from stowplan.api.read_only import EMPTY

__all__ = [
    "Binding", "Event", "EventSeries", "Lease", "LeaseSpec", "Namespace", "PriorityClass", "ReplicationController",
    "ReplicationControllerSpec", "Service", "ServiceSpec",
]  # fmt: skip


class Namespace(Wire, frozen=True, kw_only=True):
    """A namespace; only its labels are read."""

    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(Wire, frozen=True, kw_only=True):
    """The pods behind a service."""

    selector: dict[str, str] = EMPTY


class Service(Wire, frozen=True, kw_only=True):
    """A service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Wire, frozen=True, kw_only=True):
    """The pods of a replication controller, whose selector is a plain map."""

    replicas: Int32 | None = None
    selector: dict[str, str] = EMPTY
    template: PodTemplateSpec | None = None


class ReplicationController(Wire, frozen=True, kw_only=True):
    """A replication controller."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class Binding(Wire, frozen=True, kw_only=True):
    """The binding of a pod to a node."""

    metadata: ObjectMeta = ObjectMeta()
    target: ObjectReference = ObjectReference()


class PriorityClass(Wire, frozen=True, kw_only=True):
    """A named priority."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


class LeaseSpec(Wire, frozen=True, kw_only=True):
    """Holder, times and duration of a lease."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Lease(Wire, frozen=True, kw_only=True):
    """A lease; replicas of a scheduler elect a leader with one."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class EventSeries(Wire, frozen=True, kw_only=True):
    """Count and time of repeated events."""

    count: Int32 = 0
    last_observed_time: str = ""


class Event(Wire, frozen=True, kw_only=True):
    """An event about an object."""

    metadata: ObjectMeta = ObjectMeta()
    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
