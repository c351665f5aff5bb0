"""Claims as they are known to be: what watches told, what was written since, and what is about to be written."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan import api
from stowplan.cache import Cluster, Store, key_of
from stowplan.plugins.dynamic_resources.allocation import AllocatedState

_SHARED = "DynamicResources.claims"


class ClaimTracker:
    """The claims of a cluster, for the plugins of all profiles: devices are given away once, whoever does it.

    A claim is in flight from Reserve, which gives it devices, until the API server has them. From then on it is assumed
    to be what the server answered, until a watch tells as much or more.
    """

    def __init__(self, store: Store[api.ResourceClaim]) -> None:
        self.allocated = AllocatedState()
        """What all claims hold, those in flight included."""
        self._store = store
        self._assumed: dict[str, api.ResourceClaim] = {}
        self._in_flight: dict[str, api.AllocationResult] = {}
        for claim in store:
            self._heard(None, claim)
        store.listen(self._heard)

    def get(self, name: str, namespace: str) -> api.ResourceClaim | None:
        assumed = self._assumed.get(f"{namespace}/{name}") if self._assumed else None
        return assumed or self._store.get(name, namespace)

    def __iter__(self) -> Iterator[api.ResourceClaim]:
        return (self._assumed.get(key, claim) for key, claim in self._store.items().items())

    def pending(self, claim: api.ResourceClaim) -> api.AllocationResult | None:
        """What a claim is about to get."""
        return self._in_flight.get(identity(claim))

    def take_off(self, claim: api.ResourceClaim, allocation: api.AllocationResult) -> None:
        """A claim is in flight with the allocation that it is to have."""
        self._in_flight[identity(claim)] = allocation
        self.allocated.hold(identity(claim), allocation)

    def land(self, claim: api.ResourceClaim) -> None:
        """A claim is no longer in flight, whether it was written or not. It holds what is known of it by other ways."""
        who = identity(claim)
        if self._in_flight.pop(who, None) is not None:
            latest = self.get(claim.metadata.name, claim.metadata.namespace)
            if latest is None or identity(latest) != who:
                self.allocated.release(who)
            else:
                self._account(latest)

    def assume(self, claim: api.ResourceClaim) -> bool:
        """The API server answered with this claim. False where it is unknown here, or something newer is known."""
        key = key_of(claim.metadata)
        known = self._assumed.get(key) or self._store.items().get(key)
        if known is None or identity(known) != identity(claim) or _newer(known, claim):
            return False
        self._assumed[key] = claim
        self._account(claim)
        return True

    def _heard(self, old: api.ResourceClaim | None, new: api.ResourceClaim | None) -> None:
        """A watch told of a claim."""
        told = old if new is None else new
        assert told is not None
        assumed = self._assumed.get(key_of(told.metadata))
        if assumed is not None:
            if new is not None and identity(new) == identity(assumed) and _newer(assumed, new):
                return
            del self._assumed[key_of(told.metadata)]
        if old is not None and (new is None or identity(new) != identity(old)):
            self._in_flight.pop(identity(old), None)
            self.allocated.release(identity(old))
        if new is not None:
            self._account(new)

    def _account(self, claim: api.ResourceClaim) -> None:
        who = identity(claim)
        allocation = claim.status.allocation or self._in_flight.get(who)
        if allocation is None:
            self.allocated.release(who)
        else:
            self.allocated.hold(who, allocation)


def identity(claim: api.ResourceClaim) -> str:
    """What tells claims apart: the uid, or the name where nobody gave them uids."""
    return claim.metadata.uid or key_of(claim.metadata)


def tracker_of(cluster: Cluster) -> ClaimTracker:
    """The one of a cluster."""
    tracker: ClaimTracker | None = cluster.shared.get(_SHARED)
    if tracker is None:
        tracker = cluster.shared[_SHARED] = ClaimTracker(cluster.stores.of(api.ResourceClaim))
    return tracker


def _newer(a: api.ResourceClaim, b: api.ResourceClaim) -> bool:
    """Whether a is a later version than b; where versions are no numbers nobody can tell."""
    first, second = a.metadata.resource_version, b.metadata.resource_version
    return first.isdigit() and second.isdigit() and int(first) > int(second)
