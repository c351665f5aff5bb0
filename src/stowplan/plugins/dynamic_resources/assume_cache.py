"""The assume cache of ResourceClaims: watched, written and in-flight states.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go,
pkg/scheduler/util/assumecache/assume_cache.go
"""

from __future__ import annotations

from collections.abc import Iterator

from stowplan import api
from stowplan.cache import Cluster, Store, key_of
from stowplan.framework import Pod
from stowplan.framework.pod_group import group_name
from stowplan.plugins.dynamic_resources.allocation import AllocatedState

SPECIAL_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of claims that the scheduler creates for extended resources."""

_SHARED = "DynamicResources.claims"


class ClaimTracker:
    """The claims of a cluster, shared by the plugins of all profiles.

    A claim is in flight from Reserve, which allocates devices to it, until the API server has the allocation. From then
    on the object of the server's response is assumed, until a watch delivers that version or a newer one.
    """

    def __init__(self, store: Store[api.ResourceClaim]) -> None:
        self.allocated = AllocatedState()
        """The allocations of all claims, those in flight included."""
        self._store = store
        self._assumed: dict[str, api.ResourceClaim] = {}
        self._in_flight: dict[str, api.AllocationResult] = {}
        self._groups: dict[str, GroupName] = {}
        """The pod groups of the pods for which claims are in flight."""
        self._special: dict[PodIdentity, dict[str, api.ResourceClaim]] = {}
        """The watched claims for extended resources, by the pod that controls them and by key."""
        for claim in store:
            self._on_change(None, claim)
        store.listen(self._on_change)

    def get(self, name: str, namespace: str) -> api.ResourceClaim | None:
        assumed = self._assumed.get(f"{namespace}/{name}") if self._assumed else None
        return assumed or self._store.get(name, namespace)

    def __iter__(self) -> Iterator[api.ResourceClaim]:
        return (self._assumed.get(key, claim) for key, claim in self._store.items().items())

    def special(self, pod: Pod) -> api.ResourceClaim | None:
        """The watched claim that an earlier attempt created for the pod's extended resources."""
        claims = self._special.get((pod.uid, pod.name))
        return next(iter(claims.values())) if claims else None

    def pending(self, claim: api.ResourceClaim) -> api.AllocationResult | None:
        """The allocation of a claim in flight."""
        return self._in_flight.get(identity(claim))

    def shared(self, claim: api.ResourceClaim, pod: Pod) -> api.AllocationResult | None:
        """The allocation of a claim in flight for another member of the pod's group."""
        found = self._in_flight.get(identity(claim))
        if found is None or self._groups.get(identity(claim)) != _group_of(pod):
            return None
        return found

    def take_off(self, claim: api.ResourceClaim, allocation: api.AllocationResult, pod: Pod | None = None) -> None:
        """Mark a claim as in flight with its allocation (SignalClaimPendingAllocation), for a pod that may be a member
        of a pod group."""
        self._in_flight[identity(claim)] = allocation
        group = None if pod is None else _group_of(pod)
        if group is not None:
            self._groups[identity(claim)] = group
        self.allocated.hold(identity(claim), allocation)

    def land(self, claim: api.ResourceClaim) -> None:
        """End the flight of a claim, written or not. Its assumed or watched allocation applies again."""
        who = identity(claim)
        self._groups.pop(who, None)
        if self._in_flight.pop(who, None) is not None:
            latest = self.get(claim.metadata.name, claim.metadata.namespace)
            if latest is None or identity(latest) != who:
                self.allocated.release(who)
            else:
                self._account(latest)

    def assume(self, claim: api.ResourceClaim) -> bool:
        """Assume the claim of an API response. False if the claim is unknown or a newer version is known."""
        key = key_of(claim.metadata)
        known = self._assumed.get(key) or self._store.items().get(key)
        if known is None or identity(known) != identity(claim) or _newer(known, claim):
            return False
        self._assumed[key] = claim
        self._account(claim)
        return True

    def _on_change(self, old: api.ResourceClaim | None, new: api.ResourceClaim | None) -> None:
        """Store handler: a watch delivered a claim."""
        watched = old if new is None else new
        assert watched is not None
        self._index(old, new)
        assumed = self._assumed.get(key_of(watched.metadata))
        if assumed is not None:
            if new is not None and identity(new) == identity(assumed) and _newer(assumed, new):
                return
            del self._assumed[key_of(watched.metadata)]
        if old is not None and (new is None or identity(new) != identity(old)):
            self._in_flight.pop(identity(old), None)
            self._groups.pop(identity(old), None)
            self.allocated.release(identity(old))
        if new is not None:
            self._account(new)

    def _index(self, old: api.ResourceClaim | None, new: api.ResourceClaim | None) -> None:
        owner = None if old is None else _owner_of_special(old)
        if old is not None and owner is not None:
            claims = self._special[owner]
            del claims[key_of(old.metadata)]
            if not claims:
                del self._special[owner]
        owner = None if new is None else _owner_of_special(new)
        if new is not None and owner is not None:
            self._special.setdefault(owner, {})[key_of(new.metadata)] = new

    def _account(self, claim: api.ResourceClaim) -> None:
        who = identity(claim)
        allocation = claim.status.allocation or self._in_flight.get(who)
        if allocation is None:
            self.allocated.release(who)
        else:
            self.allocated.hold(who, allocation)


PodIdentity = tuple[str, str]
"""Uid and name of a pod."""


def _owner_of_special(claim: api.ResourceClaim) -> PodIdentity | None:
    """The pod that controls a claim for extended resources; None for other claims."""
    metadata = claim.metadata
    if metadata.annotations.get(SPECIAL_CLAIM) != "true":
        return None
    return next(((owner.uid, owner.name) for owner in metadata.owner_references if owner.controller), None)


GroupName = tuple[str, str]
"""Namespace and name of a pod group."""


def _group_of(pod: Pod) -> GroupName | None:
    name = group_name(pod)
    return (pod.namespace, name) if name else None


def identity(claim: api.ResourceClaim) -> str:
    """The identity of a claim: the uid, or the key for claims from files, which have none."""
    return claim.metadata.uid or key_of(claim.metadata)


def tracker_of(cluster: Cluster) -> ClaimTracker:
    """The assume cache of a cluster."""
    tracker: ClaimTracker | None = cluster.shared.get(_SHARED)
    if tracker is None:
        tracker = cluster.shared[_SHARED] = ClaimTracker(cluster.stores.of(api.ResourceClaim))
    return tracker


def _newer(a: api.ResourceClaim, b: api.ResourceClaim) -> bool:
    """Whether a is newer than b; False if a version is not a number."""
    first, second = a.metadata.resource_version, b.metadata.resource_version
    return first.isdigit() and second.isdigit() and int(first) > int(second)
