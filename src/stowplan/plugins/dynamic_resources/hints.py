"""Queueing hints: events that may make a pod schedulable that DynamicResources rejected.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import api
from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker, identity
from stowplan.plugins.dynamic_resources.claims import may_use, resolve
from stowplan.plugins.dynamic_resources.group_claims import GroupClaims


class Hints:
    """Hints for events of claims and of the pod itself. Other registered events always queue the pod."""

    def __init__(self, tracker: ClaimTracker, groups: GroupClaims | None, *, allocatable_wakes: bool) -> None:
        self._tracker = tracker
        self._groups = groups
        self._node_actions = fwk.Action.Add | fwk.Action.UpdateNodeLabel
        if allocatable_wakes:
            self._node_actions |= fwk.Action.UpdateNodeAllocatable

    def events(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Node, self._node_actions),
            fwk.on(fwk.EventResource.ResourceClaim, fwk.Action.Add | fwk.Action.Update, self.after_claim_event),
            fwk.on(fwk.EventResource.Pod, fwk.Action.UpdatePodGeneratedResourceClaim, self.after_pod_event),
            fwk.on(fwk.EventResource.DeviceClass, fwk.Action.Add | fwk.Action.Update),
            fwk.on(fwk.EventResource.ResourceSlice, fwk.Action.Add | fwk.Action.Update),
        )

    def after_claim_event(
        self, pod: fwk.Pod, old: api.ResourceClaim | None, new: api.ResourceClaim
    ) -> fwk.QueueingHint:
        """Queue every pod after a deallocation; after other changes of a claim only the pods that use it."""
        freed = old is not None and old.status.allocation is not None and new.status.allocation is None
        # Thousands of pods may wait when a claim of another pod changes.
        if not freed and not (may_use(pod, new) and (old is None or old.status != new.status)):
            return fwk.QueueingHint.QueueSkip
        claims = resolve(pod, self._tracker, groups=self._groups)
        if isinstance(claims, fwk.Status):
            return fwk.QueueingHint.QueueSkip
        own = any(identity(claim) == identity(new) for claim in claims)
        return fwk.QueueingHint.Queue if freed or own else fwk.QueueingHint.QueueSkip

    def after_pod_event(self, pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod) -> fwk.QueueingHint:
        """Queue if the pod's status names the created claims now."""
        helps = new.uid == pod.uid and not isinstance(resolve(new, self._tracker, groups=self._groups), fwk.Status)
        return fwk.QueueingHint.Queue if helps else fwk.QueueingHint.QueueSkip
