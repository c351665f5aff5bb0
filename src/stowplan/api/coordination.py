"""The group coordination.k8s.io: leases, by which replicas of a scheduler elect a leader."""

from stowplan.api.meta import Int32, ObjectMeta, Wire


class LeaseSpec(Wire, frozen=True, kw_only=True):
    """Who holds the lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Lease(Wire, frozen=True, kw_only=True):
    """A lock with an expiry."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
