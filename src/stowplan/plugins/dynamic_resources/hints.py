"""Queueing hints: events that may make a pod schedulable that DynamicResources rejected.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import api
from stowplan.framework import Action, ClusterEventWithHint, EventResource, Pod, QueueingHint, Status, on
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker, identity
from stowplan.plugins.dynamic_resources.claims import resolve


class Hints:
    """Hints for events of claims and of the pod itself. Other registered events always queue the pod."""

    def __init__(self, tracker: ClaimTracker) -> None:
        self._tracker = tracker

    def events(self) -> Iterable[ClusterEventWithHint]:
        return (
            on(EventResource.Node, Action.Add | Action.UpdateNodeLabel | Action.UpdateNodeAllocatable),
            on(EventResource.ResourceClaim, Action.Add | Action.Update, self.after_claim_event),
            on(EventResource.Pod, Action.UpdatePodGeneratedResourceClaim, self.after_pod_event),
            on(EventResource.DeviceClass, Action.Add | Action.Update),
            on(EventResource.ResourceSlice, Action.Add | Action.Update),
        )

    def after_claim_event(self, pod: Pod, old: api.ResourceClaim | None, new: api.ResourceClaim) -> QueueingHint:
        """Queue every pod after a deallocation; after other changes of a claim only the pods that use it."""
        claims = resolve(pod, self._tracker)
        if isinstance(claims, Status):
            return QueueingHint.QueueSkip
        freed = old is not None and old.status.allocation is not None and new.status.allocation is None
        own = any(identity(claim) == identity(new) for claim in claims)
        changed = old is None or old.status != new.status
        return QueueingHint.Queue if freed or (own and changed) else QueueingHint.QueueSkip

    def after_pod_event(self, pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
        """Queue if the pod's status names the created claims now."""
        helps = new.uid == pod.uid and not isinstance(resolve(new, self._tracker), Status)
        return QueueingHint.Queue if helps else QueueingHint.QueueSkip
