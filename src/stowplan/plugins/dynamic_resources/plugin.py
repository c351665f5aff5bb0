"""The plugin: claims that are there and can be used, nodes that reach what was allocated.

Devices are not allocated here yet, so a pod with a claim that has none is not placed anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from stowplan import api
from stowplan.config.args import DynamicResourcesArgs
from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    CycleState,
    EventResource,
    Handle,
    Mask,
    NodeInfo,
    Nodes,
    Pod,
    PodTemplate,
    QueueingHint,
    Scores,
    Status,
    on,
    skip,
)
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.dynamic_resources import extended_resources
from stowplan.plugins.dynamic_resources.binding_conditions import readiness, timed_out
from stowplan.plugins.dynamic_resources.claims import PodClaim, PodClaims, check_requests, is_reserved_for, key, resolve
from stowplan.plugins.dynamic_resources.reasons import (
    DEALLOCATED,
    DELETED,
    NAME,
    NO_ALLOCATION,
    NO_CLAIMS,
    NO_STATE,
    NOT_ALLOCATED,
    NOTHING_HELPS,
    OUT_OF_REACH,
    failure,
)

STATE = f"PreFilter{NAME}"

_NONE = PodClaims()


class DynamicResources(InTreePlugin):
    """Concerned with pods that name claims, or ask for extended resources that devices might serve."""

    name = NAME
    reads = ("ResourceClaim", "DeviceClass", "ResourceSlice")
    parallel_pre_bind = True
    scope = "cluster"
    normalize = "default"

    def __init__(self, args: DynamicResourcesArgs, handle: Handle, clock: Callable[[], float] = time.time) -> None:
        super().__init__(args, handle)
        self._binding_timeout = args.binding_timeout.seconds
        self._clock = clock
        self._store = self.cluster.stores.of(api.ResourceClaim)
        self._classes = self.cluster.stores.of(api.DeviceClass)

    def concerns(self, template: PodTemplate) -> bool:
        return bool(template.spec.resource_claims) or bool(extended_resources.requested(template))

    def pre_enqueue(self, pod: Pod) -> Status | None:
        found = resolve(pod, self._store)
        return found if isinstance(found, Status) else None

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        # Written first: what comes later can tell a pod that was looked at from one that never was.
        state.write(STATE, _NONE)
        named = resolve(pod, self._store)
        if isinstance(named, Status):
            return named
        extended = extended_resources.backed(self.cluster, pod.template)
        special = extended_resources.special_claim(self.cluster, pod) if any(extended.values()) else None
        checked: list[PodClaim] = []
        for claim in named if special is None else (*named, special):
            item = self._examine(claim, is_special=claim is special)
            if isinstance(item, Status):
                return item
            checked.append(item)
        if not checked:
            return skip()
        user = tuple(checked[: len(named)])
        state.write(STATE, PodClaims(user, None if special is None else checked[-1], extended))
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        claims = self._claims(state, pod)
        if claims is None:
            return NO_STATE
        served_by_devices = extended_resources.needs_devices(claims, node)
        if isinstance(served_by_devices, Status):
            return served_by_devices
        if served_by_devices or claims.awaits_allocation:
            return NO_ALLOCATION
        if claims.user and not all(item.usable_on(node) for item in claims):
            return OUT_OF_REACH
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterable[tuple[Mask, Status]]:
        masks: dict[Status, Mask] = {}
        for position, node in nodes.infos():
            status = self.filter(state, pod, node)
            if status is not None:
                if status not in masks:
                    masks[status] = np.zeros(len(nodes), dtype=np.bool_)
                masks[status][position] = True
        return [(mask, status) for status, mask in masks.items()]

    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Status:
        """What would be done so that another attempt may succeed; the write itself needs a cluster."""
        claims: PodClaims | None = state.get(STATE)
        if claims is None:
            return NO_CLAIMS if NAME in state.skip_filter else NO_STATE
        if not claims:
            return NO_CLAIMS
        nodes = [self.nodes.get(name) for name, status in statuses.items() if status == OUT_OF_REACH]
        for item in claims.user:
            consumers = {consumer.uid for consumer in item.claim.status.reserved_for}
            if consumers <= {pod.uid} and any(node is not None and not item.usable_on(node) for node in nodes):
                return DEALLOCATED
        if claims.special is not None and extended_resources.is_written(claims.special.claim):
            return DELETED
        return NOTHING_HELPS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Alternatives that a claim prefers count when its devices are allocated, which none are in a cycle."""
        return 0

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        claims = self._claims(state, pod)
        if claims is None:
            return NO_STATE
        return NOT_ALLOCATED if claims.awaits_allocation else None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing was reserved outside of the cycle."""

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        claims = self._claims(state, pod)
        if claims is None:
            return NO_STATE
        return None if claims else skip()

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        claims = self._claims(state, pod)
        if claims is None:
            return NO_STATE
        for item in claims:
            # An extended resource that the node offers as such leaves the special claim empty and unwritten.
            if extended_resources.is_written(item.claim) and not is_reserved_for(item.claim, pod):
                return failure(f"reserving ResourceClaim {key(item.claim)} needs a connection to a cluster")
        for item in claims:
            ready = readiness(item.claim)
            if isinstance(ready, Status):
                return ready
            if not ready:
                return failure(f"waiting for the devices of {key(item.claim)} needs a connection to a cluster")
        return None

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (
            on(EventResource.Node, Action.Add | Action.UpdateNodeLabel | Action.UpdateNodeAllocatable),
            on(EventResource.ResourceClaim, Action.Add | Action.Update, self._after_claim_event),
            on(EventResource.Pod, Action.UpdatePodGeneratedResourceClaim, self._after_pod_event),
            on(EventResource.DeviceClass, Action.Add | Action.Update),
            on(EventResource.ResourceSlice, Action.Add | Action.Update),
        )

    def _claims(self, state: CycleState, pod: Pod) -> PodClaims | None:
        """What PreFilter found; None where it should have looked and did not."""
        claims: PodClaims | None = state.get(STATE)
        return _NONE if claims is None and not self.concerns(pod.template) else claims

    def _examine(self, claim: api.ResourceClaim, *, is_special: bool) -> PodClaim | Status:
        allocation = claim.status.allocation
        if allocation is None:
            problem = None if is_special else check_requests(claim, self._classes)
            return problem or PodClaim(claim)
        reachable = None
        if allocation.node_selector is not None:
            reachable = api.compile_node_selector(allocation.node_selector)
            if reachable.error is not None:
                return failure(reachable.error)
        ready = readiness(claim)
        failed = isinstance(ready, Status) or (not ready and timed_out(claim, self._binding_timeout, self._clock()))
        return PodClaim(claim, reachable, failed)

    def _after_claim_event(self, pod: Pod, old: api.ResourceClaim | None, new: api.ResourceClaim) -> QueueingHint:
        """Devices that became free may help anybody; other news of a claim only the pods that use it."""
        claims = resolve(pod, self._store)
        if isinstance(claims, Status):
            return QueueingHint.QueueSkip
        freed = old is not None and old.status.allocation is not None and new.status.allocation is None
        own = any(claim.metadata.uid == new.metadata.uid for claim in claims)
        changed = old is None or old.status != new.status
        return QueueingHint.Queue if freed or (own and changed) else QueueingHint.QueueSkip

    def _after_pod_event(self, pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
        """The pod's status now names the claims that were made for it."""
        helps = new.uid == pod.uid and not isinstance(resolve(new, self._store), Status)
        return QueueingHint.Queue if helps else QueueingHint.QueueSkip
