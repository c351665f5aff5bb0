"""The prioritize verb: scores of 0 to 10, always integers, one for each node of the request."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.reply import VerbReply
from stowplan.extender.handlers.verb_call import NodeQuestion, VerbCall
from stowplan.extender.scaling import from_percent
from stowplan.extender.wire.server_requests import read_prioritize
from stowplan.framework import DecisionRecord, Pod

log = logging.getLogger("stowplan.extender")


def answer(court: HandlerState, call: VerbCall) -> VerbReply:
    question = call.request = NodeQuestion(read_prioritize(call.body, court.known))
    source = question.request.pod
    call.about(source.metadata.namespace, source.metadata.name, source.metadata.uid)
    call.facts.nodes_in = call.facts.nodes_out = len(question.names)
    with court.gate.entered(f"prioritize of pod {call.facts.pod}", call.deadline):
        pod, scores = _score(court, call, question)
    shown: Sequence[int] = scores
    if court.policy.shadow:
        log.info("shadow: prioritize would have scored nodes for pod %s", call.facts.pod)
        shown = [0] * len(scores)
    if "prioritize" in court.answers and not call.facts.dry_run:
        court.answers["prioritize"].put(call.facts, dict(zip(question.names, shown, strict=True)))
    names = question.names  # and not the question, which the record would keep with all its nodes
    return VerbReply(200, court.lines.write(names, shown), call.facts, lambda: _record(pod, names, scores))


def _score(court: HandlerState, call: VerbCall, question: NodeQuestion) -> tuple[Pod, list[int]]:
    request = question.request
    pod = court.pod(request.pod, request.pod_bytes)
    if court.policy.spares(pod):
        question.drop_repeats()
        return pod, [0] * len(question.names)
    court.jury.panel.seconds.clear()
    means = np.zeros(0)
    for jury, positions in court.admit(call, question):
        names = question.names if positions is None else [question.names[p] for p in positions.tolist()]
        cycle = court.cycle(call, jury, pod, request.pod, request.pod_bytes, anew=False)
        scores = jury.score(jury.chosen(cycle.pod), cycle, names, call.pause)
        if positions is None:
            means = scores
            break
        means = means if len(means) else np.zeros(len(question.names))
        means[positions] = scores
    call.facts.plugin_seconds = dict(court.jury.panel.seconds)
    return pod, from_percent(means)


def _record(pod: Pod, names: Sequence[str], scores: Sequence[int]) -> DecisionRecord:
    return DecisionRecord(
        pod=pod.key,
        uid=pod.uid,
        scheduler_name=pod.spec.scheduler_name,
        nodes=len(names),
        feasible=tuple(sorted(names)),
        totals=dict(zip(names, scores, strict=True)),
    )


def fallback(court: HandlerState, call: VerbCall, problem: str) -> VerbReply:
    """The scheduler would drop an error without a word: equal scores say the same, and it is in our log."""
    question: NodeQuestion | None = call.request
    if question is not None:
        question.drop_repeats()
    names = () if question is None else question.names
    earlier: dict[str, int] = {}
    if "prioritize" in court.answers:
        earlier = court.answers["prioritize"].get(call.facts) or {}
    log.warning("prioritize of pod %s gives equal scores: %s", call.facts.pod, problem)
    return VerbReply(200, court.lines.write(names, [earlier.get(name, 0) for name in names]), call.facts)
