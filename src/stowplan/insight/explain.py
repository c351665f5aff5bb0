"""The explanation of a pod without a node.

`explain` works in slices, so that a scheduler can run it between cycles. It reads the cluster and leaves it as it was.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec.structs import replace

from stowplan.framework import Code, DecisionRecord, Explanation, FunnelStage, NodeInfo, Pod, Refusal, Slots
from stowplan.framework.explanation import (
    EXPLANATION_VERSION,
    Because,
    ClosestNode,
    ExplainedPod,
    Proposal,
    Reason,
    Step,
    Took,
    Verdict,
)
from stowplan.framework.pod_group import group_name
from stowplan.insight.bounds import bound_of
from stowplan.insight.closest import closest_nodes
from stowplan.insight.lasting import lasting_rejections
from stowplan.insight.made_of import made_of, sum_in_words
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.plugin_words import pod_refusals
from stowplan.insight.preemption import preemption_answer
from stowplan.insight.proposals import node_proposal, pod_proposals, priority_proposal
from stowplan.insight.sentences import Dominating, dominating_sentence
from stowplan.insight.sentences.forced import Forced, forced, way_around
from stowplan.insight.sentences.node_affinity import requirement_counts
from stowplan.insight.sentences.resources import fragmentation, totals
from stowplan.insight.slices import Slices, run
from stowplan.insight.steps import Elimination, StepKind, count, eliminate, left_before
from stowplan.insight.verdict import OnTheWay, fits_after_deletions, verdict_of
from stowplan.insight.workloads import workload_of
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.profile.profile import Profile

__all__ = ["explain", "run"]

_MAX_EXAMINED_FOR_BEST = 16
_MAX_SAMPLE_NODES = 5


def explain(
    profile: Profile,
    pod: Pod,
    *,
    top: int = 5,
    message: str | None = None,
    details: bool = False,
    within: Slots | None = None,
) -> Slices[Explanation]:
    """Why the pod has no node, as the cluster is now; with `within`, none of these nodes.

    `message` is kube-scheduler's message of the last attempt; without it the attempt is made again, with the search for
    victims, which can take longer than a slice should. `details` embeds the whole decision record, with every node.
    """
    if not len(profile.cluster.nodes):
        return _short(pod, "not-now", "There are no nodes.", Because(id="no-nodes", plugin=""))
    matrix = FilterMatrix(profile, pod, filled=False, within=within)
    yield from matrix.fill()
    yield
    decision = profile.explain_decision(pod) if message is None else None
    message = message if decision is None else decision.message
    record = None if decision is None else decision_record(decision, details=details)
    yield
    if matrix.pod_status is not None:
        return replace(_refused_pod(matrix, message or ""), decision=record)
    feasible = matrix.feasible()
    if len(feasible):
        return replace(
            _short(pod, "fits", f"Fits on {_nodes(len(feasible))} now.", None, message or ""), decision=record
        )
    on_the_way = None if within is not None else (yield from fits_after_deletions(matrix))
    yield
    lasting = yield from lasting_rejections(matrix)
    verdict = verdict_of(matrix, on_the_way, lasting)
    yield
    # The sentence about a pod that never fits is about a reason that lasts, not about one that other rules hide.
    never = verdict == "never"
    dominating = yield from _dominating(matrix, eliminate(matrix), lasting=never)
    if never and not dominating.refusal.lasting:
        dominating = yield from _dominating(matrix, eliminate(matrix, lasting), lasting=never)
    eliminations = dominating.eliminations
    start = yield from forced(dominating)
    yield
    around = (yield from way_around(dominating)) or fragmentation(dominating)
    yield
    # Proposals are checked on all nodes.
    proposals = [] if within is not None else (yield from pod_proposals(matrix))
    yield
    if decision is not None and decision.preemption is None:
        proposals += [proposal for proposal in (priority_proposal(matrix),) if proposal is not None]
        yield
    if eliminations[-1].rank.kind is StepKind.AMOUNT and within is None:
        proposals += [proposal for proposal in (node_proposal(matrix, dominating.best),) if proposal is not None]
        yield
    closest, checks = yield from closest_nodes(matrix, top)
    preemption = preemption_answer(profile, pod, decision, message or "")
    yield
    sentence = start.begin(dominating_sentence(dominating))
    more = (*around, *_notes(dominating), _verdict_sentence(verdict, on_the_way, proposals, closest))
    if on_the_way is not None:
        sentence, more = more[-1], (sentence, *more[:-1])
    yield
    because = _because(dominating, start)
    yield
    steps = yield from _steps(matrix, eliminations)
    reasons = yield from _reasons(matrix)
    return Explanation(
        version=EXPLANATION_VERSION,
        pod=explained_pod(pod),
        state="pending",
        verdict=verdict,
        sentence=sentence,
        more=more,
        because=because,
        steps=steps,
        reasons=reasons,
        closest=tuple(closest),
        proposals=tuple(proposals),
        preemption=preemption,
        message=message or "",
        decision=record,
        took=Took(checks=checks),
    )


def decision_record(decision: Decision, *, details: bool) -> DecisionRecord:
    """The record of a decision; without details, the counts of nodes only."""
    if details or decision.error is not None:
        return decision.record()
    diagnosis = decision.diagnosis
    return DecisionRecord(
        pod=decision.pod.key,
        uid=decision.pod.uid,
        scheduler_name=decision.profile.name,
        node=decision.node_name,
        nodes=len(decision.profile.cluster.nodes),
        message=decision.message,
        funnel=()
        if diagnosis is None
        else tuple(FunnelStage(stage.plugin, stage.remaining) for stage in diagnosis.funnel()),
    )


def explained_pod(pod: Pod) -> ExplainedPod:
    """The parts of the requests are left out for a large spec, which may have thousands of containers."""
    workload = workload_of(pod)
    return ExplainedPod(
        namespace=pod.namespace,
        name=pod.name,
        workload="" if workload is None else str(workload),
        pod_group=group_name(pod),
        scheduler=pod.spec.scheduler_name,
        priority=pod.priority,
        requests=dict(pod.template.requests),
        made_of={} if pod.template.large else made_of(pod),
    )


def _short(
    pod: Pod,
    verdict: Verdict,
    sentence: str,
    because: Because | None,
    message: str = "",
    more: tuple[str, ...] = (),
) -> Explanation:
    return Explanation(
        version=EXPLANATION_VERSION,
        pod=explained_pod(pod),
        state="pending",
        verdict=verdict,
        sentence=sentence,
        more=more,
        because=because,
        message=message,
    )


def _refused_pod(matrix: FilterMatrix, message: str) -> Explanation:
    """PreFilter rejects the pod as a whole."""
    status = matrix.pod_status
    assert status is not None
    refusal = pod_refusals(matrix, status)[0]
    because = Because(id=refusal.id, plugin=status.plugin, facts=refusal.facts)
    verdict: Verdict = "never" if status.code == Code.UnschedulableAndUnresolvable and refusal.lasting else "not-now"
    sentence = f"{refusal.text[:1].upper()}{refusal.text[1:]}."
    return _short(matrix.pod, verdict, sentence, because, message, refusal.notes)


def _dominating(matrix: FilterMatrix, eliminations: list[Elimination], *, lasting: bool) -> Slices[Dominating]:
    left = left_before(matrix, eliminations)
    best, refusal = yield from _best_of(matrix, eliminations[-1].plugin, np.flatnonzero(left), lasting=lasting)
    return Dominating(matrix, eliminations, left, best, refusal)


def _best_of(matrix: FilterMatrix, plugin: str, slots: Slots, *, lasting: bool) -> Slices[tuple[NodeInfo, Refusal]]:
    """Of the nodes that a plugin rejects, the one whose refusal needs the smallest change. With `lasting`, those
    that do not last count only for nodes without others."""
    bounds = np.broadcast_to(np.asarray(bound_of(matrix, plugin)), (matrix.high,))[slots]
    yield
    nearest = slots[np.argsort(bounds, kind="stable")][:_MAX_EXAMINED_FOR_BEST]
    found: list[tuple[float, str, NodeInfo, Refusal]] = []
    for slot in nearest.tolist():
        info = matrix.table.infos[slot]
        if info is not None:
            refusals = matrix.explain(plugin, info)
            hardest = max([each for each in refusals if each.lasting and lasting] or refusals, key=_effort)
            found.append((_effort(hardest), info.name, info, hardest))
        yield
    return min(found, key=lambda entry: entry[:2])[2:]


def _effort(refusal: Refusal) -> float:
    return min((change.effort for change in refusal.changes), default=100.0)


def _notes(dominating: Dominating) -> tuple[str, ...]:
    """Facts that are easily overlooked, where the request comes from among them."""
    resource = dominating.refusal.facts.get("resource", "")
    made = sum_in_words(dominating.pod, resource) if resource in dominating.pod.template.requests else ""
    return (*((made,) if made else ()), *dominating.refusal.notes)


def _because(dominating: Dominating, start: Forced) -> Because:
    refusal = dominating.refusal
    return Because(
        id=refusal.id,
        plugin=refusal.plugin,
        nodes=dominating.nodes,
        best=dominating.best.name,
        facts=refusal.facts | totals(dominating) | requirement_counts(dominating),
        forced_by=start.because,
    )


def _verdict_sentence(
    verdict: Verdict, on_the_way: OnTheWay | None, proposals: list[Proposal], closest: list[ClosestNode]
) -> str:
    if verdict == "never":
        return "Never fits, as the pod and the nodes are."
    if on_the_way is not None:
        pods = on_the_way.pods
        who = f"{pods[0]} is" if len(pods) == 1 else f"{len(pods):,} pods that are being deleted are"
        return f"Waits for deletions: fits on {on_the_way.node} as soon as {who} gone."
    for node in closest:
        for change in node.changes:
            if change.kind == "leave":
                return f"Not now: it fits on {node.node} as soon as {change.text}."
    if closest:
        return f"Not now: it would fit on {closest[0].node} after this change: {closest[0].changes[0].text}."
    if proposals:
        return f"Not now: it would fit on {_nodes(proposals[0].opens)} after this change: {proposals[0].change.text}."
    return "Not now; no change of the pod or of a node that was checked makes it fit."


def _nodes(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"


def _steps(matrix: FilterMatrix, eliminations: list[Elimination]) -> Slices[tuple[Step, ...]]:
    steps = [Step(left=count(matrix.alive))]
    for plugin, _, lost, left in eliminations:
        info = matrix.table.infos[int(np.flatnonzero(lost)[0])]
        refusal = matrix.explain(plugin, info)[0] if info is not None else None
        rule = "" if refusal is None else refusal.rule or refusal.wanted or refusal.text
        steps.append(Step(left=count(left), lost=count(lost), rule=rule, plugin=plugin))
        yield
    return tuple(steps)


def _reasons(matrix: FilterMatrix) -> Slices[tuple[Reason, ...]]:
    reasons = []
    for plugin, nodes in matrix.by_plugin().items():
        slots = np.flatnonzero(nodes)
        infos = [info for slot in slots[:_MAX_SAMPLE_NODES].tolist() if (info := matrix.table.infos[slot]) is not None]
        messages: Counter[str] = Counter()
        for name, status, mask in matrix.rejected:
            if name == plugin:
                for reason in status.reasons:
                    messages[reason] += count(mask)
        reasons.append(
            Reason(
                id=matrix.explain(plugin, infos[0])[0].id,
                plugin=plugin,
                nodes=len(slots),
                alone=count(matrix.alone(plugin)),
                messages=dict(messages),
                sample=tuple(info.name for info in infos),
            )
        )
        yield
    return tuple(sorted(reasons, key=lambda reason: -reason.nodes))
