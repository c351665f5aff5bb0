"""The preempt verb: which of the evictions that the scheduler has in mind may happen.

The guard is here: victims are on the node that they are named for, no list of them is null, and none is empty where the
scheduler offered some, since older releases take that for an error of the whole reply.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from stowplan.extender.handlers.cluster_plugins import Chosen
from stowplan.extender.handlers.handler_state import HandlerState, NoCacheError
from stowplan.extender.handlers.reply import VerbReply
from stowplan.extender.handlers.verb_call import VerbCall
from stowplan.extender.wire.server_replies import write_preempt_result
from stowplan.extender.wire.server_requests import PreemptRequest, ProposedVictims, read_preempt
from stowplan.framework import CandidateRecord, DecisionRecord, Pod, PreemptionRecord, implements
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError

log = logging.getLogger("stowplan.extender")

Candidates = dict[str, tuple[Pod, ...]]
Evictions = dict[str, tuple[tuple[str, ...], int]]
"""(uids of victims, disruption budgets violated) by node."""


def answer(court: HandlerState, call: VerbCall) -> VerbReply:
    request = call.request = read_preempt(call.body)
    metadata = request.pod.metadata
    call.about(metadata.namespace, metadata.name, metadata.uid)
    call.facts.nodes_in = len(request.victims)
    with court.gate.entered(f"preempt of pod {call.facts.pod}", call.deadline):
        pod = court.pod(request.pod, request.pod_bytes)
        selecting = [] if court.policy.spares(pod) else _selecting(court.jury.chosen(pod))
        offered = _candidates(court, request, needed=bool(selecting))
        kept = _select(court, call, selecting, pod, offered)
        evictions = _guarded(court, request, offered, kept)
    if court.policy.shadow:
        if evictions.keys() != request.victims.keys():
            log.info("shadow: preempt would have left nodes %s for pod %s", sorted(evictions), call.facts.pod)
        evictions = _unchanged(request)
    call.facts.nodes_out = len(evictions)
    if "preempt" in court.answers:
        court.answers["preempt"].put(call.facts, evictions)
    body = write_preempt_result(evictions, lower_case=court.policy.lower_case)
    return VerbReply(200, body, call.facts, lambda: _record(pod, evictions))


def _selecting(chosen: Chosen) -> list[OutOfTreePlugin]:
    return [plugin for plugin, _ in chosen if implements(type(plugin.inner), "select_victims")]


def _candidates(court: HandlerState, request: PreemptRequest, *, needed: bool) -> Candidates:
    """The pods offered for eviction; of those that are known by uid alone the cache knows the rest."""
    if not request.names_only:
        return {node: tuple(map(court.jury.cluster.pod, v.pods)) for node, v in request.victims.items()}
    if court.mirror is None and needed and not court.policy.bare_names:
        raise NoCacheError("the request names victims by uid, and there is no cache to look them up in")
    known = court.jury.cluster.pods
    return {
        node: tuple(known.get(pod.metadata.uid) or court.jury.cluster.pod(pod) for pod in victims.pods)
        for node, victims in request.victims.items()
    }


def _select(
    court: HandlerState, call: VerbCall, plugins: list[OutOfTreePlugin], pod: Pod, offered: Candidates
) -> Candidates:
    """What the plugins leave of it, one after another."""
    cycle = court.cycles.find(pod.uid, pod.key, call.clock()) or court.cycles.begin(pod, call.clock())
    kept = offered
    for plugin in plugins:
        call.pause()
        try:
            given = plugin.inner.select_victims(cycle.state, pod, kept)
            kept = {str(node): tuple(victims) for node, victims in given.items()}
        except Exception as problem:
            text = f'plugin "{plugin.name}": select_victims failed: {type(problem).__name__}: {problem}'
            raise CycleError(text, plugin.name) from problem
        _check(plugin.name, kept)
    return kept


def _check(plugin: str, given: Mapping[str, Iterable[object]]) -> None:
    for node, victims in given.items():
        for victim in victims:
            if not isinstance(victim, Pod):
                shown = f"{victim!r:.100}"
                raise CycleError(f'plugin "{plugin}": select_victims named {shown} on node {node}, which is no pod')


def _guarded(court: HandlerState, request: PreemptRequest, offered: Candidates, kept: Candidates) -> Evictions:
    evictions: Evictions = {}
    for node, pods in kept.items():
        uids = tuple(dict.fromkeys(pod.uid for pod in pods))
        info = court.jury.cluster.nodes.get(node)
        there = {pod.uid for pod in offered.get(node, ())}.union(() if info is None else info.pods)
        before = request.victims.get(node)
        if before is None and info is None:
            log.warning("preempt: node %s was neither offered nor is it known, and is left out", node)
        elif not there.issuperset(uids):
            log.warning("preempt: node %s is left out, since victims were named that are not on it", node)
        elif not uids and (before is None or before.pods):
            log.debug("preempt: node %s is left out, since nobody would be evicted there", node)
        else:
            evictions[node] = (uids, _violations(before, uids))
    return evictions


def _violations(before: ProposedVictims | None, uids: tuple[str, ...]) -> int:
    """Budgets were counted for the victims that were offered; fewer victims violate no more than that."""
    return 0 if before is None else min(before.num_pdb_violations, len(uids))


def _unchanged(request: PreemptRequest) -> Evictions:
    return {node: (victims.uids, victims.num_pdb_violations) for node, victims in request.victims.items()}


def _record(pod: Pod, evictions: Evictions) -> DecisionRecord:
    candidates = tuple(CandidateRecord(node, uids, violations) for node, (uids, violations) in evictions.items())
    return DecisionRecord(pod=pod.key, uid=pod.uid, preemption=PreemptionRecord(candidates=candidates))


def fallback(court: HandlerState, call: VerbCall, problem: str, status: int) -> VerbReply:
    """There is no place for an error in the reply, so the status tells it."""
    request: PreemptRequest | None = call.request
    how = "pass" if court.policy.shadow else court.policy.on_failure.get("preempt", "fail")
    evictions: Evictions | None = None
    if request is not None and how == "pass":
        evictions = _unchanged(request)
    elif request is not None and how == "cached":
        earlier: Evictions = court.answers["preempt"].get(call.facts) or {}
        evictions = {node: earlier[node] for node in request.victims if node in earlier} or None
    if evictions is None:
        return VerbReply(status, court.problem(problem), call.facts)
    call.facts.nodes_out = len(evictions)
    return VerbReply(200, write_preempt_result(evictions, lower_case=court.policy.lower_case), call.facts)
