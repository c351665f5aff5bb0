"""The prioritize verb: scores of 0 to 10, always integers, one for each node of the request."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from stowplan.extender.handlers.call import Call, Question
from stowplan.extender.handlers.court import Court
from stowplan.extender.handlers.reply import Reply
from stowplan.extender.scaling import from_percent
from stowplan.extender.wire.requests import read_prioritize
from stowplan.framework import DecisionRecord, Pod

log = logging.getLogger("stowplan.extender")


def answer(court: Court, call: Call) -> Reply:
    question = call.request = Question(read_prioritize(call.body, court.known))
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
    return Reply(200, court.lines.write(names, shown), call.facts, lambda: _record(pod, names, scores))


def _score(court: Court, call: Call, question: Question) -> tuple[Pod, list[int]]:
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


def fallback(court: Court, call: Call, problem: str) -> Reply:
    """The scheduler would drop an error without a word: equal scores say the same, and it is in our log."""
    question: Question | None = call.request
    if question is not None:
        question.drop_repeats()
    names = () if question is None else question.names
    earlier: dict[str, int] = {}
    if "prioritize" in court.answers:
        earlier = court.answers["prioritize"].get(call.facts) or {}
    log.warning("prioritize of pod %s gives equal scores: %s", call.facts.pod, problem)
    return Reply(200, court.lines.write(names, [earlier.get(name, 0) for name in names]), call.facts)
