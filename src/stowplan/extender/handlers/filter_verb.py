"""The filter verb: which nodes a pod may use, and why not the others."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import compress
from typing import NamedTuple

import numpy as np

from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.node_results import NodeResults
from stowplan.extender.handlers.reply import VerbReply
from stowplan.extender.handlers.verb_call import NodeQuestion, VerbCall
from stowplan.extender.wire.server_replies import write_filter_result
from stowplan.extender.wire.server_requests import read_filter
from stowplan.framework import Pod, Status
from stowplan.runtime.out_of_tree.plugin_runner import NodeVerdicts

log = logging.getLogger("stowplan.extender")

NO_EARLIER_ANSWER = "no answer in time, nor an earlier one"


class _Earlier(NamedTuple):
    """An answer that may be given again."""

    passing: frozenset[str]
    failed: dict[str, str]
    unresolvable: dict[str, str]


def answer(court: HandlerState, call: VerbCall) -> VerbReply:
    question = call.request = NodeQuestion(read_filter(call.body, court.known))
    source = question.request.pod
    call.about(source.metadata.namespace, source.metadata.name, source.metadata.uid)
    call.facts.nodes_in = len(question.names)
    with court.gate.entered(f"filter of pod {call.facts.pod}", call.deadline):
        pod, outcome = _judge(court, call, question)
    return _reply(court, call, question, pod, outcome)


def _judge(court: HandlerState, call: VerbCall, question: NodeQuestion) -> tuple[Pod, NodeResults]:
    request = question.request
    pod = court.pod(request.pod, request.pod_bytes)
    if court.policy.spares(pod):
        question.drop_repeats()
        return pod, NodeResults.uniform(question.names)
    court.jury.panel.seconds.clear()
    parts = []
    for jury, positions in court.admit(call, question):
        names = question.names if positions is None else [question.names[p] for p in positions.tolist()]
        cycle = court.cycle(call, jury, pod, request.pod, request.pod_bytes, anew=True)
        outcome = jury.filter(jury.chosen(cycle.pod), cycle, names, call.pause)
        if positions is None:
            call.facts.plugin_seconds = dict(jury.panel.seconds)
            return pod, outcome
        parts.append((positions, outcome))
    codes = np.empty(len(question.names), dtype=np.int32)
    statuses: list[Status] = []
    for positions, outcome in parts:
        codes[positions] = np.where(outcome.codes < 0, outcome.codes, outcome.codes + len(statuses))
        statuses += outcome.statuses
    return pod, NodeResults(question.names, NodeVerdicts(codes, statuses))


def _reply(court: HandlerState, call: VerbCall, question: NodeQuestion, pod: Pod, outcome: NodeResults) -> VerbReply:
    failed, unresolvable = outcome.refusals()
    passing = outcome.passing()
    rejects = call.facts.rejects = dict(Counter((*failed.values(), *unresolvable.values())))
    if court.policy.shadow:
        if rejects:
            log.info("shadow: filter would have rejected nodes for pod %s: %s", call.facts.pod, rejects)
        passing, failed, unresolvable = [True] * len(question.names), {}, {}
    call.facts.nodes_out = sum(passing)
    if "filter" in court.answers and not call.facts.dry_run:
        names = frozenset(compress(question.names, passing))
        court.answers["filter"].put(call.facts, _Earlier(names, failed, unresolvable))
    body = write_filter_result(
        question.mode, question.passing(passing), failed, unresolvable, lower_case=court.policy.lower_case
    )
    return VerbReply(200, body, call.facts, lambda: outcome.record(pod))


def fallback(court: HandlerState, call: VerbCall, problem: str) -> VerbReply:
    """What the failure policy says where plugins have no answer."""
    question: NodeQuestion | None = call.request
    if question is not None:
        question.drop_repeats()
    how = "pass" if court.policy.shadow else court.policy.on_failure.get("filter", "fail")
    lower_case = court.policy.lower_case
    if question is not None and how == "pass":
        call.facts.nodes_out = len(question.names)
        everybody = question.passing([True] * len(question.names))
        return VerbReply(200, write_filter_result(question.mode, everybody, {}, {}, lower_case=lower_case), call.facts)
    if question is not None and how == "cached":
        earlier: _Earlier | None = court.answers["filter"].get(call.facts)
        if earlier is not None:
            return _repeat(call, question, earlier, lower_case)
    mode = "names" if question is None else question.mode
    return VerbReply(200, write_filter_result(mode, [], {}, {}, problem, lower_case=lower_case), call.facts)


def _repeat(call: VerbCall, question: NodeQuestion, earlier: _Earlier, lower_case: bool) -> VerbReply:
    """The last answer for the pod, as far as it goes."""
    passing = [name in earlier.passing for name in question.names]
    others = [name for name in question.names if name not in earlier.passing]
    unresolvable = {name: earlier.unresolvable[name] for name in others if name in earlier.unresolvable}
    failed = {name: earlier.failed.get(name, NO_EARLIER_ANSWER) for name in others if name not in unresolvable}
    call.facts.nodes_out = sum(passing)
    body = write_filter_result(question.mode, question.passing(passing), failed, unresolvable, lower_case=lower_case)
    return VerbReply(200, body, call.facts)
