"""The explanation of a pod without a node.

`explain` is a generator: it yields between parts of the work, so that a scheduler can run it in slices between cycles.
It reads the cluster and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import TypeVar

import numpy as np

from stowplan.framework import Explanation, NodeInfo, Pod, Refusal
from stowplan.framework.explanation import EXPLANATION_VERSION, Because, ExplainedPod, Reason, Step, Verdict
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.plugin_words import from_status
from stowplan.insight.proposals import pod_proposals
from stowplan.insight.sentences import Dominating, dominating_sentence
from stowplan.insight.steps import Elimination, count, eliminate, left_before
from stowplan.insight.verdict import verdict_of, verdict_sentence
from stowplan.runtime.profile.profile import Profile

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Work in slices: yields between them, returns the result."""

_MAX_EXAMINED_FOR_BEST = 64
_MAX_SAMPLE = 5


def explain(profile: Profile, pod: Pod) -> Slices[Explanation]:
    """Why the pod has no node, as the cluster is now."""
    matrix = FilterMatrix(profile, pod)
    yield
    status = matrix.pod_status
    if status is not None:
        return _explanation(matrix, "not-now" if status.code != 3 else "never", from_status(status).text + ".", ())
    feasible = matrix.feasible()
    if len(feasible):
        return _explanation(matrix, "fits", f"Fits on {len(feasible):,} nodes now.", ())
    eliminations = eliminate(matrix)
    left = left_before(matrix, eliminations)
    best, refusal = _best_of(matrix, eliminations[-1].plugin, np.flatnonzero(left))
    dominating = Dominating(matrix, eliminations, left, best, refusal)
    yield
    proposals = yield from pod_proposals(matrix)
    verdict = verdict_of(matrix)
    because = Because(id=refusal.id, plugin=refusal.plugin, nodes=dominating.nodes, best=best.name, facts=refusal.facts)
    return Explanation(
        version=EXPLANATION_VERSION,
        pod=explained_pod(pod),
        state="pending",
        verdict=verdict,
        sentence=dominating_sentence(dominating),
        more=(verdict_sentence(verdict, dominating),),
        because=because,
        steps=_steps(matrix, eliminations),
        reasons=_reasons(matrix),
        proposals=tuple(proposals),
    )


def run(slices: Slices[T]) -> T:
    """All slices at once."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result


def explained_pod(pod: Pod) -> ExplainedPod:
    owner = pod.template.controller
    return ExplainedPod(
        namespace=pod.namespace,
        name=pod.name,
        workload="" if owner is None else f"{owner.kind}/{owner.name}",
        scheduler=pod.spec.scheduler_name,
        priority=pod.priority,
        requests=dict(pod.template.requests),
    )


def _explanation(matrix: FilterMatrix, verdict: Verdict, sentence: str, more: tuple[str, ...]) -> Explanation:
    return Explanation(
        version=EXPLANATION_VERSION,
        pod=explained_pod(matrix.pod),
        state="pending",
        verdict=verdict,
        sentence=sentence,
        more=more,
    )


def _best_of(matrix: FilterMatrix, plugin: str, slots: np.ndarray) -> tuple[NodeInfo, Refusal]:
    """Of the nodes that a plugin rejects, the one whose refusal needs the smallest change."""
    found: tuple[float, str, NodeInfo, Refusal] | None = None
    for slot in slots[:_MAX_EXAMINED_FOR_BEST].tolist():
        info = matrix.table.infos[slot]
        if info is None:
            continue
        refusals = matrix.explain(plugin, info)
        hardest = max(refusals, key=_effort)
        entry = (_effort(hardest), info.name, info, hardest)
        if found is None or entry[:2] < found[:2]:
            found = entry
    assert found is not None
    return found[2], found[3]


def _effort(refusal: Refusal) -> float:
    return min((change.effort for change in refusal.changes), default=100.0)


def _steps(matrix: FilterMatrix, eliminations: list[Elimination]) -> tuple[Step, ...]:
    steps = [Step(left=count(matrix.alive))]
    for plugin, _, lost, left in eliminations:
        info = matrix.table.infos[int(np.flatnonzero(lost)[0])]
        refusal = matrix.explain(plugin, info)[0] if info is not None else None
        rule = "" if refusal is None else refusal.rule or refusal.wanted or refusal.text
        steps.append(Step(left=count(left), lost=count(lost), rule=rule, plugin=plugin))
    return tuple(steps)


def _reasons(matrix: FilterMatrix) -> tuple[Reason, ...]:
    reasons = []
    for plugin, nodes in matrix.by_plugin().items():
        slots = np.flatnonzero(nodes)
        infos = [info for slot in slots[:_MAX_SAMPLE].tolist() if (info := matrix.table.infos[slot]) is not None]
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
    return tuple(sorted(reasons, key=lambda reason: -reason.nodes))
