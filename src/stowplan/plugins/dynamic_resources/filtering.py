"""Filter and Score: what nodes have to offer to the claims of one pod."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from stowplan import api
from stowplan.cache import Cluster
from stowplan.cache.device_classes import backing_device_class
from stowplan.framework import Mask, NodeInfo, Nodes, Pod, Scores, Status
from stowplan.plugins.dynamic_resources.allocation import TIMED_OUT, AllocationFailure, Solution, WantedClaim
from stowplan.plugins.dynamic_resources.claims import NodeAllocation, PodClaims
from stowplan.plugins.dynamic_resources.extended_requests import requests_for
from stowplan.plugins.dynamic_resources.extended_resources import needed_devices
from stowplan.plugins.dynamic_resources.node_offers import MAX_ALTERNATIVES, NodeOffers, Registry
from stowplan.plugins.dynamic_resources.reasons import CANNOT_ALLOCATE, OUT_OF_REACH, failure, unresolvable


@dataclass(frozen=True, slots=True)
class _Demand:
    """The claims of a pod as nodes must serve them: all alike, but for extended resources that some offer as such."""

    wanted: tuple[WantedClaim, ...] | AllocationFailure
    offers: NodeOffers
    special: api.ResourceClaim | None
    mappings: tuple[api.ContainerExtendedResourceRequest, ...]


class NodeSearch(Mapping[str, NodeAllocation]):
    """What the claims of a pod that have no devices yet would get on each node, in one cycle."""

    def __init__(self, registry: Registry, cluster: Cluster, pod: Pod, claims: PodClaims) -> None:
        self._registry = registry
        self._cluster = cluster
        self._pod = pod
        self._claims = [item.claim for item in claims.to_allocate() if item is not claims.special]
        self._special = None if claims.special is None else claims.special.claim
        self._outline = claims
        self._demands: dict[tuple[str, ...], _Demand] = {}
        self._settled_score = sum(_settled_score(item.claim) for item in claims)

    def demand(self, needed: tuple[str, ...] = ()) -> _Demand:
        """The claims, with those extended resources that devices must serve."""
        found = self._demands.get(needed)
        if found is None:
            special: api.ResourceClaim | None = None
            mappings: tuple[api.ContainerExtendedResourceRequest, ...] = ()
            if self._special is not None and self._special.status.allocation is None:
                requests, mappings = requests_for(self._pod.template, needed, self._class_of)
                devices = replace(self._special.spec.devices, requests=requests)
                special = replace(self._special, spec=replace(self._special.spec, devices=devices))
            claims = self._claims if special is None else [*self._claims, special]
            wanted = self._registry.allocator.prepare(claims)
            found = self._demands[needed] = _Demand(wanted, self._registry.offers(claims), special, mappings)
        return found

    def deadline(self) -> float:
        """When a pass over many nodes that begins now is to be broken off: it may take as long as a single node."""
        return time.monotonic() + (self._registry.allocator.timeout or math.inf)

    def on(self, node: NodeInfo, needed: tuple[str, ...] = ()) -> Solution | AllocationFailure | None:
        demand = self.demand(needed)
        return demand.wanted if isinstance(demand.wanted, AllocationFailure) else demand.offers.on(node, demand.wanted)

    def score(self, node: NodeInfo) -> int:
        """What the alternatives are worth that the claims got on a node."""
        needed = needed_devices(self._outline, node)
        if isinstance(needed, Status) or not isinstance(self.on(node, needed), Solution):
            return 0
        return self._settled_score + int(self.demand(needed).offers.scores[node.slot])

    def scores(self, nodes: Nodes) -> Scores:
        """The same for many nodes, where no extended resources make a difference between them."""
        return self._settled_score + self.demand().offers.scores[nodes.index]

    def __getitem__(self, node_name: str) -> NodeAllocation:
        node = self._cluster.nodes.get(node_name)
        needed = () if node is None else needed_devices(self._outline, node)
        if node is None or isinstance(needed, Status) or not (needed or self._outline.user):
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


def judge(claims: PodClaims, node: NodeInfo) -> Status | None:
    """The scalar form of Filter."""
    needed = needed_devices(claims, node)
    if isinstance(needed, Status):
        return needed
    if not needed and not claims.user:
        return None
    if isinstance(claims.allocations, NodeSearch):
        found = claims.allocations.on(node, needed)
        if found is None:
            return CANNOT_ALLOCATE
        if isinstance(found, AllocationFailure):
            return _told(found)
    return _reach(claims, node)


def judge_nodes(claims: PodClaims, nodes: Nodes) -> list[tuple[Mask, Status]]:
    """The vector form: nodes are asked one by one only where the answer is not known."""
    if claims.special is not None or not isinstance(claims.allocations, NodeSearch):
        return _collect(nodes, ((position, judge(claims, node)) for position, node in nodes.infos()))
    demand = claims.allocations.demand()
    if isinstance(demand.wanted, AllocationFailure):
        return [(np.ones(len(nodes), dtype=np.bool_), _told(demand.wanted))]
    failed: list[tuple[int, Status | None]] = []
    given_up: Status | None = None
    deadline = claims.allocations.deadline()
    for position, node in demand.offers.unanswered(nodes):
        # An error ends the cycle, and searches that take long on every node would hold up everybody else. What was
        # found so far is remembered, so that the next attempt goes on from there.
        if given_up is None and time.monotonic() > deadline:
            given_up = failure(TIMED_OUT.format(node=node.name))
        found = None if given_up is not None else demand.offers.on(node, demand.wanted)
        if isinstance(found, AllocationFailure):
            failed.append((position, _told(found)))
            given_up = _told(found) if found.timed_out else None
        elif given_up is not None:
            failed.append((position, given_up))
    lacking = demand.offers.lacking(nodes)
    answers = [*_collect(nodes, failed), (lacking, CANNOT_ALLOCATE)]
    if any(item.claim.status.allocation is not None for item in claims.user):
        told = {position for position, _ in failed}
        rest = ((p, _reach(claims, n)) for p, n in nodes.infos() if not lacking[p] and p not in told)
        answers += _collect(nodes, rest)
    return answers


def _reach(claims: PodClaims, node: NodeInfo) -> Status | None:
    """Whether what was allocated earlier can be used on the node."""
    useless = [number for number, item in enumerate(claims) if not item.usable_on(node)]
    if not useless:
        return None
    claims.unavailable.update(useless)
    return OUT_OF_REACH


def _told(found: AllocationFailure) -> Status:
    return unresolvable(found.text) if found.on_node else failure(found.text)


def _collect(nodes: Nodes, answers: Iterable[tuple[int, Status | None]]) -> list[tuple[Mask, Status]]:
    masks: dict[Status, Mask] = {}
    for position, status in answers:
        if status is not None:
            if status not in masks:
                masks[status] = np.zeros(len(nodes), dtype=np.bool_)
            masks[status][position] = True
    return [(mask, status) for status, mask in masks.items()]


def _settled_score(claim: api.ResourceClaim) -> int:
    """What the alternatives are worth that a claim was given earlier."""
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
