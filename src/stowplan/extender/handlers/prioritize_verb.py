"""The prioritize verb: an integer score of 0 to 10 for each node of the request.

Upstream: k8s.io/kube-scheduler/extender/v1 HostPriorityList
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stowplan import logs
from stowplan.extender.handlers.cluster_plugins import ClusterPlugins
from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.verb_call import VerbCall, VerbReply
from stowplan.extender.scaling import from_percent
from stowplan.extender.wire.server_requests import FilterRequest, read_filter
from stowplan.framework import DecisionRecord, Pod

log = logs.get(__name__)


def answer(state: HandlerState, call: VerbCall) -> VerbReply:
    request = call.request = read_filter(call.body, state.known_nodes)
    call.set_pod(request.pod.metadata)
    call.facts.nodes_in = call.facts.nodes_out = len(request.names)
    with state.exclusive.entered(f"prioritize of pod {call.facts.pod}", call.deadline):
        pod, scores = _score(state, call, request)
    sent: Sequence[int] = scores
    if state.policy.shadow:
        log.info("Shadow mode: prioritize would have scored nodes", pod=logs.ref(call.facts.pod))
        sent = [0] * len(scores)
    if "prioritize" in state.earlier_answers and not call.facts.dry_run:
        state.earlier_answers["prioritize"].put(call.facts, dict(zip(request.names, sent, strict=True)))
    names = request.names  # The record references the names alone, not the request with its full nodes.
    return VerbReply(200, state.priority_lines.write(names, sent), call.facts, lambda: _record(pod, names, scores))


def _score(state: HandlerState, call: VerbCall, request: FilterRequest) -> tuple[Pod, list[int]]:
    pod = state.pod(request)
    if state.policy.spares(pod):
        request.drop_repeats()
        return pod, [0] * len(request.names)
    state.plugins.runner.seconds.clear()
    parts = state.plugins_for(call, request)
    means = np.zeros(len(request.names))
    for plugins, positions in parts:
        if positions is None:
            means = _run(call, plugins, state.current_cycle(call, pod), request.names)
            break
        names = [request.names[position] for position in positions.tolist()]
        pod_seen = pod if plugins is state.plugins else state.pod(request, plugins)
        means[positions] = _run(call, plugins, state.current_cycle(call, pod_seen), names)
    call.facts.plugin_seconds = dict(state.plugins.runner.seconds)
    return pod, from_percent(means)


def _run(call: VerbCall, plugins: ClusterPlugins, cycle: PodCycle, names: Sequence[str]) -> NDArray[np.float64]:
    """Run PreScore and Score: by position the weighted mean of the plugins' scores, 0 to 100; 0 for unknown nodes."""
    applying, slots = plugins.applying_to(cycle.pod), plugins.slots(names)
    known = slots >= 0
    if not cycle.pre_filtered:
        plugins.pre_filter(applying, cycle, slots)
    means = np.zeros(len(names))
    scores = plugins.runner.score(applying, cycle.state, cycle.pod, slots[known], call.check_deadline)
    weights = sum(score.weight for score in scores)
    for score in scores:
        means[known] += score.normalized * (score.weight / weights)
    return means


def _record(pod: Pod, names: Sequence[str], scores: Sequence[int]) -> DecisionRecord:
    return DecisionRecord(
        pod=pod.key,
        uid=pod.uid,
        scheduler_name=pod.spec.scheduler_name,
        nodes=len(names),
        feasible=tuple(sorted(names)),
        totals=dict(zip(names, scores, strict=True)),
    )


def fallback(state: HandlerState, call: VerbCall, problem: str) -> VerbReply:
    """Equal scores, or those of an earlier answer: kube-scheduler ignores errors of prioritize, so they are logged."""
    request: FilterRequest | None = call.request
    if request is not None:
        request.drop_repeats()
    names = () if request is None else request.names
    earlier: dict[str, int] = {}
    if "prioritize" in state.earlier_answers:
        earlier = state.earlier_answers["prioritize"].get(call.facts) or {}
    log.warning("Prioritize failed, all nodes get equal scores", pod=logs.ref(call.facts.pod), err=problem)
    return VerbReply(200, state.priority_lines.write(names, [earlier.get(name, 0) for name in names]), call.facts)
