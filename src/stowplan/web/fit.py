"""The answers of all filters and scores about every node, for one pod: the colours of the map and the matrix."""

from __future__ import annotations

import numpy as np

from stowplan.framework import Mask, Pod
from stowplan.insight.altered import diagnose_altered
from stowplan.insight.bounds import effort_bounds
from stowplan.insight.finding import FoundPod
from stowplan.insight.insight import Insight
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.placed import taken_off
from stowplan.insight.points import Points
from stowplan.insight.slices import Slices
from stowplan.insight.steps import Elimination, count, eliminate
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.web.columns import column
from stowplan.web.wire import FitStep, Lacks, NodeFit, OpenedNodes, ScoreColumns, ScoringPlugin

MAX_MATRIX_PLUGINS = 30
"""Bits of `NodeFit.rejects`."""
NEAR_EFFORT = 3.0
"""The effort of one small change: up to a tenth of a request, one toleration, an uncordoned node, or one label."""
_FIT = "NodeResourcesFit"


def fit(insight: Insight, found: FoundPod, epoch: str, revision: int) -> Slices[NodeFit]:
    """Which rule rejects which node. A placed pod is taken off its node for that."""
    profile = insight.profile_of(found.pod)
    with taken_off(profile, found.pod) as unassigned:
        answer = _fit(FilterMatrix(profile, unassigned if found.placed else found.pod), epoch, revision)
    yield
    return answer


def opened(insight: Insight, found: FoundPod, number: int, epoch: str, revision: int) -> Slices[OpenedNodes]:
    """The nodes on which a pending pod fits with a proposal of its explanation, by the proposal's number."""
    explanation = yield from insight.explain(found.pod)
    slots: list[int] = []
    if number < len(explanation.proposals):
        patch = explanation.proposals[number].change.patch
        diagnosis = diagnose_altered(insight.profile_of(found.pod), found.pod, patch) if patch else None
        slots = [] if diagnosis is None else diagnosis.feasible.tolist()
    return OpenedNodes(epoch=epoch, revision=revision, pod=found.pod.key, slot=slots)


def _fit(matrix: FilterMatrix, epoch: str, revision: int) -> NodeFit:
    step = np.where(matrix.alive, 0, -1)
    status = matrix.pod_status
    if status is not None:
        steps = [FitStep(plugin=status.plugin, kind="identity", lost=count(matrix.alive), left=0)]
        step[matrix.alive] = 1
    else:
        eliminations = eliminate(matrix)
        steps = [_step(each) for each in eliminations]
        for number, each in enumerate(eliminations, 1):
            step[each.lost] = number
    masks = matrix.by_plugin()
    plugins = list(masks)[:MAX_MATRIX_PLUGINS]
    rejects = np.zeros(matrix.high, dtype=np.int64)
    for bit, plugin in enumerate(plugins):
        rejects |= masks[plugin].astype(np.int64) << bit
    return NodeFit(
        epoch=epoch,
        revision=revision,
        pod=matrix.pod.key,
        whole="" if status is None else status.plugin,
        steps=steps,
        step=column(step.tolist()),
        plugins=plugins,
        rejects=column(rejects.tolist()),
        near=np.flatnonzero(_near(matrix, masks)).tolist(),
        lacks=_lacks(matrix, masks[_FIT]) if _FIT in masks else {},
    )


def _step(elimination: Elimination) -> FitStep:
    plugin, rank, lost, left = elimination
    return FitStep(plugin=plugin, kind=rank.kind.value, lost=count(lost), left=count(left))


def _near(matrix: FilterMatrix, masks: dict[str, Mask]) -> Mask:
    """Nodes that one plugin rejects and a small change may open."""
    rejections = np.zeros(matrix.high, dtype=np.int64)
    for mask in masks.values():
        rejections += mask
    if not masks:
        return rejections > 0
    near: Mask = matrix.alive & (rejections == 1) & (effort_bounds(matrix) <= NEAR_EFFORT)
    return near


def _lacks(matrix: FilterMatrix, nodes: Mask) -> dict[str, Lacks]:
    table, high = matrix.table, matrix.high
    full = nodes & (table.pod_count.array[:high] >= table.allowed_pods.array[:high])
    slots = np.flatnonzero(full).tolist()
    found = {"pods": Lacks(slot=slots, amount=[1] * len(slots))} if slots else {}
    for resource, amount in matrix.pod.template.requests.items():
        allocatable, requested = table.resource(resource)
        free = allocatable.array[:high] - requested.array[:high]
        slots = np.flatnonzero(nodes & (free < amount)).tolist()
        if amount and slots:
            lacking = [amount - max(0, allocatable.values[slot] - requested.values[slot]) for slot in slots]
            found[resource] = Lacks(slot=slots, amount=lacking)
    return found


def points(insight: Insight, found: FoundPod, epoch: str, revision: int) -> Slices[ScoreColumns]:
    """The scores of the nodes that would do now. A placed pod is taken off its node for that."""
    profile, pod = insight.profile_of(found.pod), found.pod
    with taken_off(profile, pod) as unassigned:
        try:
            diagnosis = Diagnosis(profile, unassigned if found.placed else pod, plain=True).run()
            scores = Points.of(diagnosis) if len(diagnosis.feasible) else None
        except CycleError:
            scores = None
    yield
    table = profile.cluster.nodes
    here = table.slot_of.get(pod.node_name, -1) if found.placed else -1
    return _points(pod, scores, table.slot_of, here, epoch, revision)


def _points(
    pod: Pod, scores: Points | None, slot_of: dict[str, int], here: int, epoch: str, revision: int
) -> ScoreColumns:
    order = [] if scores is None else [each for each in scores.order() if scores.names[each] in slot_of]
    plugins = () if scores is None else scores.plugins
    return ScoreColumns(
        epoch=epoch,
        revision=revision,
        pod=pod.key,
        node=here,
        slot=[] if scores is None else [slot_of[scores.names[each]] for each in order],
        total=[] if scores is None else column(scores.total[order].tolist()),
        plugins=[
            ScoringPlugin(plugin=each.plugin, weight=each.weight, normalized=column(each.normalized[order].tolist()))
            for each in plugins
        ],
    )
