"""The plugin.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from stowplan import api
from stowplan import framework as fwk
from stowplan.config.args import DynamicResourcesArgs
from stowplan.config.feature_gates import SHARED_CLAIMS, group_difference
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.dynamic_resources import extended_resources
from stowplan.plugins.dynamic_resources.allocation import DeviceID, Solution
from stowplan.plugins.dynamic_resources.assume_cache import tracker_of
from stowplan.plugins.dynamic_resources.binding_conditions import readiness, timed_out
from stowplan.plugins.dynamic_resources.claim_writes import KIND
from stowplan.plugins.dynamic_resources.claims import PodClaim, PodClaims, check_requests, key, resolve
from stowplan.plugins.dynamic_resources.device_inventory import Stage
from stowplan.plugins.dynamic_resources.explanation import (
    DeviceExplanation,
    alternatives_in_words,
    explain_pod_claims,
    requests_in_words,
)
from stowplan.plugins.dynamic_resources.filtering import NodeSearch, judge, judge_nodes
from stowplan.plugins.dynamic_resources.group_claims import GroupClaims
from stowplan.plugins.dynamic_resources.hints import Hints
from stowplan.plugins.dynamic_resources.node_offers import OffersByClaims
from stowplan.plugins.dynamic_resources.pre_bind import ClaimWriter
from stowplan.plugins.dynamic_resources.reasons import (
    DEALLOCATED,
    DELETED,
    NAME,
    NO_CLAIMS,
    NO_STATE,
    NOT_SERVED,
    NOTHING_HELPS,
    UNRESERVED_FOR_GROUP,
    failure,
    unresolvable,
)
from stowplan.plugins.dynamic_resources.release import ClaimReleaser
from stowplan.plugins.dynamic_resources.reserve import ClaimReservation

STATE = f"PreFilter{NAME}"
RESERVATION = f"Reserve{NAME}"
_EXPLANATION = f"Explain{NAME}"

_NONE = PodClaims()


class DynamicResources(InTreePlugin):
    """Allocates devices to the ResourceClaims and extended resources of pods."""

    name = NAME
    reads = ("ResourceClaim", "DeviceClass", "ResourceSlice")
    parallel_pre_bind = True
    scope = "cluster"
    normalize = "default"

    def __init__(
        self, args: DynamicResourcesArgs, handle: fwk.Handle, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(args, handle)
        self._binding_timeout = args.binding_timeout.seconds
        self._clock = clock or handle.now
        self._classes = self.cluster.stores.of(api.DeviceClass)
        self._tracker = tracker_of(self.cluster)
        self._not_owner = self.cluster.release.rules.devices.not_owner
        self._groups = GroupClaims(self.cluster)
        self._shares_as_upstream = self.cluster.release.has(group_difference(SHARED_CLAIMS))
        wakes = self.cluster.release.rules.devices.allocatable_wakes
        self._hints = Hints(self._tracker, self._groups, allocatable_wakes=wakes)
        self._releaser = ClaimReleaser(self._tracker, handle)
        self._writer = ClaimWriter(self._tracker, handle, self._binding_timeout, self._clock)
        timeout = args.filter_timeout.seconds
        self._offers_by_claims = OffersByClaims(self.cluster, self._tracker.allocated, self._classes, timeout)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(template.spec.resource_claims) or bool(extended_resources.requested(template))

    def pre_enqueue(self, pod: fwk.Pod) -> fwk.Status | None:
        if KIND in self.cluster.missing_kinds:
            return None  # PreFilter rejects the pod: unlike here, that is reported by an event and a condition.
        found = resolve(pod, self._tracker, self._not_owner, self._groups)
        return found if isinstance(found, fwk.Status) else None

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        # Written first: later extension points distinguish a pod without state from a pod without claims.
        state.write(STATE, _NONE)
        if KIND in self.cluster.missing_kinds and pod.spec.resource_claims:
            return NOT_SERVED
        named = resolve(pod, self._tracker, self._not_owner, self._groups)
        if isinstance(named, fwk.Status):
            return named
        extended = extended_resources.backed(self.cluster, pod.template)
        special = extended_resources.special_claim(self.cluster, pod) if any(extended.values()) else None
        checked: list[PodClaim] = []
        for claim in named if special is None else (*named, special):
            item = self._examine(claim, pod, is_special=claim is special)
            if isinstance(item, fwk.Status):
                return item
            checked.append(item)
        if not checked:
            return fwk.skip()
        user = tuple(checked[: len(named)])
        claims = PodClaims(user, None if special is None else checked[-1], extended)
        if claims.to_allocate():
            claims = replace(claims, allocations=NodeSearch(self._offers_by_claims, self.cluster, pod, claims))
        state.write(STATE, claims)
        return None

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        claims = self._claims(state, pod)
        return NO_STATE if claims is None else judge(claims, node)

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterable[tuple[fwk.Mask, fwk.Status]]:
        claims = self._claims(state, pod)
        return [(np.ones(len(nodes), dtype=np.bool_), NO_STATE)] if claims is None else judge_nodes(claims, nodes)

    def post_filter(self, state: fwk.CycleState, pod: fwk.Pod, statuses: Mapping[str, fwk.Status]) -> fwk.Status:
        """PostFilter: deallocate a claim that makes nodes unavailable; the pod is retried afterwards."""
        claims: PodClaims | None = state.get(STATE)
        if claims is None:
            return NO_CLAIMS if NAME in state.skip_filter else NO_STATE
        if not claims:
            return NO_CLAIMS
        blocking = self._releaser.blocking(claims, pod)
        if blocking is not None:
            self._releaser.deallocate(blocking, pod)
            return DEALLOCATED
        reserved = self._releaser.reserved_in_vain(claims) if self._groups.is_idle(pod) else None
        if reserved is not None:
            self._releaser.release_group(reserved, pod)
            return UNRESERVED_FOR_GROUP
        return DELETED if self._releaser.drop_stale(claims, pod) else NOTHING_HELPS

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        """The score of prioritized alternatives, for claims that are allocated in this cycle."""
        claims = self._claims(state, pod)
        return claims.allocations.score(node) if claims and isinstance(claims.allocations, NodeSearch) else 0

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        claims = self._claims(state, pod)
        if not claims or not isinstance(claims.allocations, NodeSearch):
            return fwk.no_scores(len(nodes))
        return claims.allocations.scores(nodes)

    def reserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        claims = self._claims(state, pod)
        if claims is None:
            return NO_STATE
        earlier: ClaimReservation | None = state.get(RESERVATION)
        # A member of a pod group was reserved as a test: kept searches may be those of later members by now.
        reservation = ClaimReservation.of(claims, node_name) if earlier is None else earlier.again()
        if isinstance(reservation, fwk.Status):
            return reservation
        reservation.begin(self._tracker, pod)
        state.write(RESERVATION, reservation)
        return None

    def unreserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> None:
        reservation: ClaimReservation | None = state.get(RESERVATION)
        if reservation is not None:
            self._releaser.unreserve(reservation, pod)

    def pre_bind_pre_flight(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        claims = self._claims(state, pod)
        if claims is None:
            return NO_STATE
        return None if claims else fwk.skip()

    async def pre_bind(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        reservation: ClaimReservation | None = state.get(RESERVATION)
        if reservation is None:
            return NO_STATE if self._claims(state, pod) is None else None
        return await self._writer.carry_out(reservation, pod, node_name)

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterable[fwk.Refusal]:
        known = self._explanation(state)
        return () if known is None else known.refusals(node)

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        return explain_pod_claims(pod, self._tracker, self._classes, self._groups)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        known = self._explanation(state)
        return None if known is None else requests_in_words(known.inventory(node))

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        claims = self._claims(state, pod)
        needed = () if not claims else extended_resources.needed_devices(claims, node)
        if not claims or isinstance(needed, fwk.Status) or not isinstance(claims.allocations, NodeSearch):
            return ""
        found = claims.allocations.on(node, needed)
        return alternatives_in_words(found) if isinstance(found, Solution) else ""

    def free_devices(self, state: fwk.CycleState, node: fwk.NodeInfo, claim: str, request: str) -> set[DeviceID]:
        """The free devices for a request that the pod could have on the node; for explanations."""
        known = self._explanation(state)
        return {
            device.id
            for alternatives in ([] if known is None else known.inventory(node))
            for each in alternatives
            if (each.claim.key, each.wanted.full_name) == (claim, request)
            for device in each.devices[Stage.FREE]
        }

    def _explanation(self, state: fwk.CycleState) -> DeviceExplanation | None:
        claims: PodClaims | None = state.get(STATE)
        if not claims:
            return None
        known: DeviceExplanation | None = state.get(_EXPLANATION)
        if known is None:
            known = DeviceExplanation(claims, self._tracker)
            state.write(_EXPLANATION, known)
        return known

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return self._hints.events()

    def _claims(self, state: fwk.CycleState, pod: fwk.Pod) -> PodClaims | None:
        """The state of PreFilter; None if PreFilter did not run."""
        claims: PodClaims | None = state.get(STATE)
        return _NONE if claims is None and not self.concerns(pod.template) else claims

    def _examine(self, claim: api.ResourceClaim, pod: fwk.Pod, *, is_special: bool) -> PodClaim | fwk.Status:
        allocation = claim.status.allocation
        if allocation is None and pod.template.spec.scheduling_group is not None:
            allocation = self._tracker.shared(claim, pod)
            if allocation is not None:
                claim = structs.replace(claim, status=structs.replace(claim.status, allocation=allocation))
                if self._shares_as_upstream:
                    return PodClaim(claim, group=self._groups.consumer(pod, claim), shared=True)
        if allocation is None:
            if self._tracker.pending(claim) is not None:
                return unresolvable(f"resource claim {key(claim)} is in the process of being allocated")
            problem = None if is_special else check_requests(claim, self._classes)
            return problem or PodClaim(claim, group=None if is_special else self._groups.consumer(pod, claim))
        reachable = None
        if allocation.node_selector is not None:
            reachable = api.compile_node_selector(allocation.node_selector)
            if reachable.error is not None:
                return failure(reachable.error)
        ready = readiness(claim)
        failed = isinstance(ready, fwk.Status) or (not ready and timed_out(claim, self._binding_timeout, self._clock()))
        group = None if is_special else self._groups.consumer(pod, claim)
        return PodClaim(claim, reachable, failed, group)
