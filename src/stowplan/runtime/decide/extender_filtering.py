"""What extenders leave of the evictions that preemption found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stowplan import logs
from stowplan.framework import Code, Failure, Status
from stowplan.framework.extender import CallExtender, Extender, ExtenderMetaVictims, ExtenderVictims
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption import Preemption, PreemptionCandidate
from stowplan.runtime.preemption.select_candidate import best, costs_of
from stowplan.runtime.profile.handle import Evictions

if TYPE_CHECKING:
    from stowplan.cache import NodeTable
    from stowplan.runtime.decide.diagnosis import Diagnosis

log = logs.get(__name__)

NO_CANDIDATE = Status(Code.Unschedulable, "preemption: no candidate node for preemption", plugin="DefaultPreemption")


async def narrowed(diagnosis: Diagnosis, found: Evictions) -> Evictions | Status:
    """The evictions that extenders agree to. They may drop nodes, name other victims, and other nodes as well."""
    profile, pod = diagnosis.profile, diagnosis.pod
    nodes = profile.cluster.nodes
    asked = [extender for extender in profile.extenders if extender.serves("preempt") and extender.is_interested(pod)]
    if not asked:
        return found
    offers = {c.info.name: ExtenderVictims(tuple(c.victims), c.violations) for c in found.preemption.candidates}
    for extender in asked:
        answer: Mapping[str, ExtenderMetaVictims] | Failure = await CallExtender(extender, "preempt", pod, offers)
        try:
            if isinstance(answer, Failure):
                raise CycleError(answer.message)
            claimed = {name: _resolved(extender, nodes, name, claim) for name, claim in answer.items()}
        except CycleError as problem:
            if not extender.ignorable:
                return Status(Code.Error, f"preemption: {problem.status.message}")
            log.info(
                "Skipped extender as it returned error and has ignorable flag set", extender=extender.name, err=problem
            )
            continue
        empty = next((name for name, eviction in claimed.items() if not eviction.victims), None)
        if empty is not None and not extender.ignorable:
            return Status(Code.Error, f"preemption: expected at least one victim pod on node {json.dumps(empty)}")
        offers = {name: eviction for name, eviction in claimed.items() if eviction.victims}
        if not offers:
            return NO_CANDIDATE
    return _chosen(diagnosis, nodes, offers)


def _resolved(extender: Extender, nodes: NodeTable, name: str, claim: ExtenderMetaVictims) -> ExtenderVictims:
    """The pods that a claim is about; those who are not there are an error."""
    info = nodes.get(name)
    if info is None:
        raise CycleError(f"nodeinfo not found for node name {json.dumps(name)}")
    for uid in claim.uids:
        if uid not in info.pods:
            raise CycleError(
                f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return ExtenderVictims(tuple(info.pods[uid] for uid in dict.fromkeys(claim.uids)), claim.pdb_violations)


def _chosen(diagnosis: Diagnosis, nodes: NodeTable, offers: Mapping[str, ExtenderVictims]) -> Evictions:
    left = [
        PreemptionCandidate(info, offer.victims, offer.pdb_violations)
        for name, offer in offers.items()
        if (info := nodes.get(name)) is not None
    ]
    tied = [left[position] for position in best(costs_of(left))]
    return Evictions(Preemption(left, tied, diagnosis.profile.rng.choice(tied), ""))
