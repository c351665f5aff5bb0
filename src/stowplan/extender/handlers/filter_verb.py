"""The filter verb: the nodes that a pod may use, and the reasons against the others.

Upstream: k8s.io/kube-scheduler/extender/v1 ExtenderArgs, ExtenderFilterResult
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from stowplan import logs
from stowplan.extender.handlers.cluster_plugins import ClusterPlugins
from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.node_results import NodeResults
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.verb_call import VerbCall, VerbReply
from stowplan.extender.wire.server_replies import write_filter_result
from stowplan.extender.wire.server_requests import FilterRequest, read_filter
from stowplan.framework import Code, Pod, Status
from stowplan.runtime.decide.filtering import absent_status
from stowplan.runtime.out_of_tree.plugin_runner import PASSES, NodeVerdicts

log = logs.get(__name__)

NO_EARLIER_ANSWER = "no answer in time, nor an earlier one"
UNKNOWN_NODE = Status(Code.UnschedulableAndUnresolvable, "node(s) not known to the extender yet")
"""For nodes that a request names and the informer cache does not contain."""


class _EarlierAnswer(NamedTuple):
    """The result of an earlier call, for failure policy "cached"."""

    passing: frozenset[str]
    failed: dict[str, str]
    unresolvable: dict[str, str]
    unconfirmed: Pod | None


def answer(state: HandlerState, call: VerbCall) -> VerbReply:
    request = call.request = read_filter(call.body, state.known_nodes)
    call.set_pod(request.pod.metadata)
    call.facts.nodes_in = len(request.names)
    with state.exclusive.entered(f"filter of pod {call.facts.pod}", call.deadline):
        pod, results = _filter(state, call, request)
    return _reply(state, call, request, pod, results)


def _filter(state: HandlerState, call: VerbCall, request: FilterRequest) -> tuple[Pod, NodeResults]:
    pod = state.pod(request)
    if state.policy.spares(pod):
        request.drop_repeats()
        return pod, NodeResults.uniform(request.names)
    state.plugins.runner.seconds.clear()
    parts = []
    for plugins, positions in state.plugins_for(call, request):
        if positions is None:
            results = _run(call, plugins, state.begin_cycle(call, pod), request.names)
            call.facts.plugin_seconds = dict(plugins.runner.seconds)
            return pod, results
        names = [request.names[position] for position in positions.tolist()]
        pod_seen = pod if plugins is state.plugins else state.pod(request, plugins)
        parts.append((positions, _run(call, plugins, state.begin_cycle(call, pod_seen), names)))
    codes = np.empty(len(request.names), dtype=np.int32)
    statuses: list[Status] = []
    for positions, results in parts:
        codes[positions] = np.where(results.codes < 0, results.codes, results.codes + len(statuses))
        statuses += results.statuses
    return pod, NodeResults(request.names, NodeVerdicts(codes, statuses))


def _run(call: VerbCall, plugins: ClusterPlugins, cycle: PodCycle, names: Sequence[str]) -> NodeResults:
    """Run PreFilter and Filter of the plugins that apply to the pod."""
    applying, runner, slots = plugins.applying_to(cycle.pod), plugins.runner, plugins.slots(names)
    pre_filtered = plugins.pre_filter(applying, cycle, slots)
    if pre_filtered.status is not None:
        return NodeResults.uniform(names, pre_filtered.status)
    eligible = slots >= 0
    if pre_filtered.names is not None:
        wanted = pre_filtered.names
        eligible &= np.fromiter((name in wanted for name in names), dtype=np.bool_, count=len(names))
    verdicts = runner.filter(
        [plugin for plugin, _ in applying], cycle.state, cycle.pod, slots[eligible], call.check_deadline
    )
    if eligible.all():
        return NodeResults(names, verdicts)
    codes = np.full(len(names), PASSES, dtype=np.int32)
    codes[eligible] = verdicts.codes
    if pre_filtered.names is not None:
        codes[~eligible] = runner.number(absent_status(pre_filtered.restricting))
    codes[slots < 0] = runner.number(UNKNOWN_NODE)
    return NodeResults(names, NodeVerdicts(codes, verdicts.statuses))


def _reply(state: HandlerState, call: VerbCall, request: FilterRequest, pod: Pod, results: NodeResults) -> VerbReply:
    failed, unresolvable = results.failures()
    passing = results.passing()
    rejects = call.facts.rejects = dict(Counter((*failed.values(), *unresolvable.values())))
    if state.policy.shadow:
        if rejects:
            log.info("Shadow mode: filter would have rejected nodes", pod=logs.ref(call.facts.pod), reasons=rejects)
        passing, failed, unresolvable = [True] * len(request.names), {}, {}
    call.facts.nodes_out = sum(passing)
    unconfirmed = state.unconfirmed(pod)
    if state.passed_nodes is not None and not call.facts.dry_run:
        state.passed_nodes.put(call.facts, compress(request.names, passing), call.clock(), unconfirmed)
    if "filter" in state.earlier_answers and not call.facts.dry_run:
        names = frozenset(compress(request.names, passing))
        state.earlier_answers["filter"].put(call.facts, _EarlierAnswer(names, failed, unresolvable, unconfirmed))
    body = write_filter_result(
        request.mode, request.passing(passing), failed, unresolvable, lower_case=state.policy.lower_case_replies
    )
    return VerbReply(200, body, call.facts, lambda: results.record(pod))


def fallback(state: HandlerState, call: VerbCall, problem: str) -> VerbReply:
    """The reply that the failure policy chooses when the plugins have no result."""
    request: FilterRequest | None = call.request
    if request is not None:
        request.drop_repeats()
    how = "pass" if state.policy.shadow else state.policy.failure_policy.filter
    lower_case = state.policy.lower_case_replies
    if request is not None and how == "pass":
        call.facts.nodes_out = len(request.names)
        if state.passed_nodes is not None:
            state.passed_nodes.put(call.facts, request.names, call.clock())
        all_nodes = request.passing([True] * len(request.names))
        return VerbReply(200, write_filter_result(request.mode, all_nodes, {}, {}, lower_case=lower_case), call.facts)
    if request is not None and how == "cached":
        earlier: _EarlierAnswer | None = state.earlier_answers["filter"].get(call.facts)
        if earlier is not None:
            return _repeat(state, call, request, earlier)
    mode = "names" if request is None else request.mode
    return VerbReply(200, write_filter_result(mode, [], {}, {}, problem, lower_case=lower_case), call.facts)


def _repeat(state: HandlerState, call: VerbCall, request: FilterRequest, earlier: _EarlierAnswer) -> VerbReply:
    """The pod's earlier answer, restricted to the nodes of this request."""
    passing = [name in earlier.passing for name in request.names]
    others = [name for name in request.names if name not in earlier.passing]
    unresolvable = {name: earlier.unresolvable[name] for name in others if name in earlier.unresolvable}
    failed = {name: earlier.failed.get(name, NO_EARLIER_ANSWER) for name in others if name not in unresolvable}
    call.facts.nodes_out = sum(passing)
    if state.passed_nodes is not None:
        state.passed_nodes.put(call.facts, compress(request.names, passing), call.clock(), earlier.unconfirmed)
    lower_case = state.policy.lower_case_replies
    body = write_filter_result(request.mode, request.passing(passing), failed, unresolvable, lower_case=lower_case)
    return VerbReply(200, body, call.facts)
