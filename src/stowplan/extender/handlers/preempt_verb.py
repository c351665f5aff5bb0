"""The preempt verb: which of the victims that the scheduler proposes may be evicted.

Replies are checked: victims are on the node that they are listed for, no list is null, and no list is empty where the
scheduler proposed victims, since older releases treat that as an error of the whole reply.

Upstream: k8s.io/kube-scheduler/extender/v1 ExtenderPreemptionArgs, ExtenderPreemptionResult
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan import logs
from stowplan.extender.handlers.cluster_plugins import WeightedPlugins
from stowplan.extender.handlers.handler_state import HandlerState, NamesWithoutCacheError
from stowplan.extender.handlers.verb_call import VerbCall, VerbReply
from stowplan.extender.wire.server_replies import write_preempt_result
from stowplan.extender.wire.server_requests import PreemptRequest, ProposedVictims, read_preempt
from stowplan.framework import CandidateRecord, DecisionRecord, Pod, PreemptionRecord, implements
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError

log = logs.get(__name__)

Candidates = dict[str, tuple[Pod, ...]]
Evictions = dict[str, tuple[tuple[str, ...], int]]
"""(uids of victims, disruption budgets violated) by node."""


def answer(state: HandlerState, call: VerbCall) -> VerbReply:
    request = call.request = read_preempt(call.body)
    call.set_pod(request.pod.metadata)
    call.facts.nodes_in = len(request.victims)
    with state.exclusive.entered(f"preempt of pod {call.facts.pod}", call.deadline):
        pod = state.pod(request)
        selecting = [] if state.policy.spares(pod) else _selecting(state.plugins.applying_to(pod))
        proposed = _candidates(state, request, needed=bool(selecting))
        kept = _select(state, call, selecting, pod, proposed)
        evictions = _checked(state, request, proposed, kept)
    if state.policy.shadow:
        if evictions.keys() != request.victims.keys():
            log.info(
                "Shadow mode: preempt would have returned other nodes",
                pod=logs.ref(call.facts.pod),
                nodes=sorted(evictions),
            )
        evictions = _unchanged(request)
    call.facts.nodes_out = len(evictions)
    if "preempt" in state.earlier_answers:
        state.earlier_answers["preempt"].put(call.facts, evictions)
    body = write_preempt_result(evictions, lower_case=state.policy.lower_case_replies)
    return VerbReply(200, body, call.facts, lambda: _record(pod, evictions))


def _selecting(applying: WeightedPlugins) -> list[OutOfTreePlugin]:
    return [plugin for plugin, _ in applying if implements(type(plugin.inner), "select_victims")]


def _candidates(state: HandlerState, request: PreemptRequest, *, needed: bool) -> Candidates:
    """The victims that the scheduler proposes; those given by uid alone are looked up in the informer cache."""
    if not request.names_only:
        return {node: tuple(map(state.plugins.cluster.pod, v.pods)) for node, v in request.victims.items()}
    if state.cluster_cache is None and needed and not state.policy.bare_names:
        raise NamesWithoutCacheError("the uids of victims")
    known = state.plugins.cluster.pods
    return {
        node: tuple(known.get(pod.metadata.uid) or state.plugins.cluster.pod(pod) for pod in victims.pods)
        for node, victims in request.victims.items()
    }


def _select(
    state: HandlerState, call: VerbCall, plugins: list[OutOfTreePlugin], pod: Pod, proposed: Candidates
) -> Candidates:
    """Run `select_victims` of the plugins, each on the result of the one before it."""
    cycle = state.cycles.find(pod.uid, pod.key, call.clock()) or state.cycles.begin(pod, call.clock())
    kept = proposed
    for plugin in plugins:
        call.check_deadline()
        try:
            given = plugin.inner.select_victims(cycle.state, pod, kept)
            kept = {str(node): tuple(victims) for node, victims in given.items()}
        except Exception as problem:
            text = f'plugin "{plugin.name}": select_victims failed: {type(problem).__name__}: {problem}'
            raise CycleError(text, plugin.name) from problem
        _check_pods(plugin.name, kept)
    return kept


def _check_pods(plugin: str, given: Mapping[str, Iterable[object]]) -> None:
    for node, victims in given.items():
        for victim in victims:
            if not isinstance(victim, Pod):
                shown = f"{victim!r:.100}"
                raise CycleError(f'plugin "{plugin}": select_victims named {shown} on node {node}, which is not a pod')


def _checked(state: HandlerState, request: PreemptRequest, proposed: Candidates, kept: Candidates) -> Evictions:
    evictions: Evictions = {}
    for node, pods in kept.items():
        uids = tuple(dict.fromkeys(pod.uid for pod in pods))
        info = state.plugins.cluster.nodes.get(node)
        there = {pod.uid for pod in proposed.get(node, ())}.union(() if info is None else info.pods)
        before = request.victims.get(node)
        if before is None and info is None:
            log.warning("Preempt drops a node that is neither a candidate nor known", node=node)
        elif not there.issuperset(uids):
            log.warning("Preempt drops a node, since some of its victims are not on it", node=node)
        elif not uids and (before is None or before.pods):
            log.v(5, "Preempt drops a node without victims", node=node)
        else:
            evictions[node] = (uids, _violations(before, uids))
    return evictions


def _violations(before: ProposedVictims | None, uids: tuple[str, ...]) -> int:
    """Violations were counted for the proposed victims; a subset violates at most as many."""
    return 0 if before is None else min(before.num_pdb_violations, len(uids))


def _unchanged(request: PreemptRequest) -> Evictions:
    return {node: (victims.uids, victims.num_pdb_violations) for node, victims in request.victims.items()}


def _record(pod: Pod, evictions: Evictions) -> DecisionRecord:
    candidates = tuple(CandidateRecord(node, uids, violations) for node, (uids, violations) in evictions.items())
    return DecisionRecord(pod=pod.key, uid=pod.uid, preemption=PreemptionRecord(candidates=candidates))


def fallback(state: HandlerState, call: VerbCall, problem: str, status: int) -> VerbReply:
    """ExtenderPreemptionResult has no field for an error, so the HTTP status reports it."""
    request: PreemptRequest | None = call.request
    how = "pass" if state.policy.shadow else state.policy.failure_policy.preempt
    evictions: Evictions | None = None
    if request is not None and how == "pass":
        evictions = _unchanged(request)
    elif request is not None and how == "cached":
        earlier: Evictions = state.earlier_answers["preempt"].get(call.facts) or {}
        evictions = {node: earlier[node] for node in request.victims if node in earlier} or None
    if evictions is None:
        return VerbReply(status, state.error_body(problem), call.facts)
    call.facts.nodes_out = len(evictions)
    return VerbReply(200, write_preempt_result(evictions, lower_case=state.policy.lower_case_replies), call.facts)
