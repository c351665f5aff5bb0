"""Filter and Score.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.device_classes import backing_device_class
from stowplan.plugins.dynamic_resources.allocation import AllocationFailure, Allocator, Solution, WantedClaim
from stowplan.plugins.dynamic_resources.claims import NodeAllocation, PodClaims
from stowplan.plugins.dynamic_resources.extended_requests import requests_for
from stowplan.plugins.dynamic_resources.extended_resources import NeededDevices, by_needed_devices, needed_devices
from stowplan.plugins.dynamic_resources.node_offers import MAX_ALTERNATIVES, NodeOffers, OffersByClaims
from stowplan.plugins.dynamic_resources.reasons import CANNOT_ALLOCATE, OUT_OF_REACH, failure, unresolvable

Answer = tuple[fwk.Mask, fwk.Status]
"""Nodes, and the status that rejects them."""


@dataclass(frozen=True, slots=True)
class _Demand:
    """The claims of a pod that a node must serve. Differs between nodes only in extended resources."""

    wanted: tuple[WantedClaim, ...] | AllocationFailure
    offers: NodeOffers
    special: api.ResourceClaim | None
    mappings: tuple[api.ContainerExtendedResourceRequest, ...]


class NodeSearch(Mapping[str, NodeAllocation]):
    """Allocations of a pod's unallocated claims on nodes, in one cycle."""

    def __init__(self, offers_by_claims: OffersByClaims, cluster: Cluster, pod: fwk.Pod, claims: PodClaims) -> None:
        self._offers_by_claims = offers_by_claims
        self._cluster = cluster
        self._pod = pod
        self._claims = [item.claim for item in claims.to_allocate() if item is not claims.special]
        self._special = None if claims.special is None else claims.special.claim
        self._outline = claims
        self._demands: dict[tuple[str, ...], _Demand] = {}
        self._settled_score = sum(_settled_score(item.claim) for item in claims)

    @property
    def allocator(self) -> Allocator:
        return self._offers_by_claims.allocator

    def demand(self, needed: tuple[str, ...] = ()) -> _Demand:
        """The claims, with the extended resources that devices must serve."""
        found = self._demands.get(needed)
        if found is None:
            special: api.ResourceClaim | None = None
            mappings: tuple[api.ContainerExtendedResourceRequest, ...] = ()
            if self._special is not None and self._special.status.allocation is None:
                requests, mappings = requests_for(self._pod.template, needed, self._class_of)
                devices = replace(self._special.spec.devices, requests=requests)
                special = replace(self._special, spec=replace(self._special.spec, devices=devices))
            claims = self._claims if special is None else [*self._claims, special]
            wanted = self._offers_by_claims.allocator.prepare(claims)
            found = self._demands[needed] = _Demand(wanted, self._offers_by_claims.offers(claims), special, mappings)
        return found

    def deadline(self) -> float:
        """The time limit of a pass over many nodes that begins now: as long as for one node (filterTimeout)."""
        return self.now() + (self._offers_by_claims.allocator.timeout or math.inf)

    def now(self) -> float:
        return self._offers_by_claims.allocator.clock()

    def on(self, node: fwk.NodeInfo, needed: tuple[str, ...] = ()) -> Solution | AllocationFailure | None:
        demand = self.demand(needed)
        return demand.wanted if isinstance(demand.wanted, AllocationFailure) else demand.offers.on(node, demand.wanted)

    def score(self, node: fwk.NodeInfo) -> int:
        """The score of the chosen alternatives on a node."""
        needed = needed_devices(self._outline, node)
        if isinstance(needed, fwk.Status) or not isinstance(self.on(node, needed), Solution):
            return 0
        return self._settled_score + int(self.demand(needed).offers.scores[node.slot])

    def groups(self, nodes: fwk.Nodes) -> list[NeededDevices] | None:
        """The nodes by the extended resources that devices must serve; None where each node has to be looked at."""
        return by_needed_devices(self._outline, self._cluster.nodes, nodes)

    def scores(self, nodes: fwk.Nodes) -> fwk.Scores:
        """The scores of many nodes that have the devices."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        groups = self.groups(nodes)
        if groups is None:
            for position, node in nodes.infos():
                scores[position] = self.score(node)
        for needed, members in groups or ():
            if needed or self._outline.user:
                found = self._settled_score + self.demand(needed).offers.scores[nodes.index]
                scores = found if members is None else np.where(members, found, scores)
        return scores

    def __getitem__(self, node_name: str) -> NodeAllocation:
        node = self._cluster.nodes.get(node_name)
        needed = () if node is None else needed_devices(self._outline, node)
        if node is None or isinstance(needed, fwk.Status) or not (needed or self._outline.user):
            raise KeyError(node_name)
        demand, found = self.demand(needed), self.on(node, needed)
        if not isinstance(found, Solution) or isinstance(demand.wanted, AllocationFailure):
            raise KeyError(node_name)
        results = found.results(demand.wanted, node_name)
        if isinstance(results, AllocationFailure):
            raise KeyError(node_name)
        return NodeAllocation(results, demand.special, demand.mappings)

    def __iter__(self) -> Iterator[str]:
        return (node.name for node in self._cluster.nodes if node.name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _class_of(self, resource: str) -> api.DeviceClass | None:
        return backing_device_class(self._cluster, resource)


def judge(claims: PodClaims, node: fwk.NodeInfo) -> fwk.Status | None:
    """Filter for one node."""
    needed = needed_devices(claims, node)
    if isinstance(needed, fwk.Status):
        return needed
    if not needed and not claims.user:
        return None
    if isinstance(claims.allocations, NodeSearch):
        found = claims.allocations.on(node, needed)
        if found is None:
            return CANNOT_ALLOCATE
        if isinstance(found, AllocationFailure):
            return _status(found)
    return _reach(claims, node)


def judge_nodes(claims: PodClaims, nodes: fwk.Nodes) -> list[Answer]:
    """Filter for many nodes: searches only nodes without a kept result."""
    search = claims.allocations
    groups = search.groups(nodes) if isinstance(search, NodeSearch) else None
    if groups is None:
        return _collect(nodes, ((position, judge(claims, node)) for position, node in nodes.infos()))
    assert isinstance(search, NodeSearch)
    deadline = search.deadline()
    return [answer for group in groups for answer in _judge_group(claims, search, nodes, group, deadline)]


def _judge_group(
    claims: PodClaims, search: NodeSearch, nodes: fwk.Nodes, group: NeededDevices, deadline: float
) -> list[Answer]:
    """Filter for nodes that must serve the same extended resources by devices."""
    needed, members = group
    if not needed and not claims.user:
        return []
    demand = search.demand(needed)
    if isinstance(demand.wanted, AllocationFailure):
        everywhere = np.ones(len(nodes), dtype=np.bool_) if members is None else members
        return [(everywhere, _status(demand.wanted))]
    failed: list[tuple[int, fwk.Status | None]] = []
    timed_out: fwk.Status | None = None
    for position, node in demand.offers.unanswered(nodes, members):
        # Long searches on every node would delay other pods, so the pass has a time limit. Results are kept; the
        # next attempt continues with the remaining nodes.
        if timed_out is None and search.now() > deadline:
            timed_out = _status(search.allocator.timeout_on(node))
        found = None if timed_out is not None else demand.offers.on(node, demand.wanted)
        if isinstance(found, AllocationFailure):
            failed.append((position, _status(found)))
            timed_out = _status(found) if found.timed_out else None
        elif timed_out is not None:
            failed.append((position, timed_out))
    lacking = demand.offers.lacking(nodes)
    if members is not None:
        lacking &= members
    answers = [*_collect(nodes, failed), (lacking, CANNOT_ALLOCATE)]
    if any(item.claim.status.allocation is not None for item in claims.user):
        settled = lacking if members is None else lacking | ~members
        rejected = {position for position, _ in failed}
        rest = ((p, _reach(claims, n)) for p, n in nodes.infos() if not settled[p] and p not in rejected)
        answers += _collect(nodes, rest)
    return answers


def _reach(claims: PodClaims, node: fwk.NodeInfo) -> fwk.Status | None:
    """Whether the node reaches the devices of allocated claims."""
    useless = [number for number, item in enumerate(claims) if not item.usable_on(node)]
    if not useless:
        return None
    claims.unavailable.update(useless)
    return OUT_OF_REACH


def _status(found: AllocationFailure) -> fwk.Status:
    return unresolvable(found.text) if found.on_node else failure(found.text)


def _collect(nodes: fwk.Nodes, answers: Iterable[tuple[int, fwk.Status | None]]) -> list[Answer]:
    masks: dict[fwk.Status, fwk.Mask] = {}
    for position, status in answers:
        if status is not None:
            if status not in masks:
                masks[status] = np.zeros(len(nodes), dtype=np.bool_)
            masks[status][position] = True
    return [(mask, status) for status, mask in masks.items()]


def _settled_score(claim: api.ResourceClaim) -> int:
    """The score of the alternatives of an allocated claim."""
    if claim.status.allocation is None:
        return 0
    given = {result.request for result in claim.status.allocation.devices.results}
    return sum(
        MAX_ALTERNATIVES - rank
        for request in claim.spec.devices.requests
        if request.exactly is None
        for rank, sub in enumerate(request.first_available)
        if f"{request.name}/{sub.name}" in given
    )
