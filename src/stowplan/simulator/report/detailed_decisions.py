"""Details of decisions, on demand: they need a diagnosis of all nodes for every pod that fits."""

from __future__ import annotations

import copy
import zlib
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.framework import DecisionRecord, FunnelStage
from stowplan.runtime import Decision
from stowplan.runtime.decide.decision import record_of
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.scoring import PluginScores
from stowplan.runtime.decide.ties import TIE_BITS
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.simulator.report.recorder import Examine

MAX_NODES_RECORDED = 100
"""Above this number of nodes, a record has the best nodes only."""

BEST_NODES_RECORDED = 10

_FASTEST_COMPRESSION = 1


class TopScores(NamedTuple):
    """The scores of the chosen and of the second best node; a single feasible node is not scored."""

    score: int | None = None
    runner_up: str = ""
    runner_up_score: int | None = None


def top_scores(decision: Decision, attempt: int) -> TopScores:
    """The scores of the two best nodes of a decision."""
    if not decision.node_name or decision.feasible < 2:
        return TopScores()
    try:
        diagnosis = _diagnosed(decision)
    except CycleError:
        return TopScores()
    infos = decision.profile.cluster.nodes.infos
    totals = {
        info.name: int(diagnosis.total[position])
        for position in _best(diagnosis, 2).tolist()
        if (info := infos[int(diagnosis.feasible[position])]) is not None
    }
    score = totals.pop(decision.node_name, None)
    if score is None or len(diagnosis.feasible) != decision.feasible:
        # Sampling filtered a part of the nodes only, and which ones is not recorded.
        return TopScores()
    return TopScores(score, *totals.popitem())


def recording(*, all_nodes: bool) -> Examine:
    """Decision records as compressed JSON; `unpack` reverses it."""
    return partial(_record, all_nodes)


def unpack(packed: bytes) -> msgspec.Raw:
    return msgspec.Raw(zlib.decompress(packed))


def _record(all_nodes: bool, decision: Decision, attempt: int) -> bytes:
    brief = len(decision.profile.cluster.nodes) > MAX_NODES_RECORDED and not all_nodes and decision.error is None
    try:
        record = _brief(decision, attempt) if brief else decision.record(attempt)
    except CycleError as failure:
        # An out-of-tree plugin fails for a node that the decision did not filter.
        pod = decision.pod
        record = DecisionRecord(pod=pod.key, uid=pod.uid, attempt=attempt, node=decision.node_name, error=str(failure))
    return zlib.compress(msgspec.json.encode(record), _FASTEST_COMPRESSION)


def _brief(decision: Decision, attempt: int) -> DecisionRecord:
    """The record without rejected nodes, and with the best of the feasible ones."""
    whole = _diagnosed(decision)
    diagnosis = copy.copy(whole)
    diagnosis.verdicts = np.full_like(whole.verdicts, -1)
    if len(whole.total):
        best = np.sort(_best(whole, BEST_NODES_RECORDED))
        diagnosis.feasible, diagnosis.total = whole.feasible[best], whole.total[best]
        diagnosis.scores = [
            PluginScores(each.plugin, each.weight, each.raw[best], each.normalized[best]) for each in whole.scores
        ]
    diagnosis.examined = diagnosis.feasible
    more = {"attempt": attempt, "node": decision.node_name, "message": decision.message}
    record = record_of(diagnosis, decision.preemption, decision.pod, **more)
    return msgspec.structs.replace(record, funnel=tuple(FunnelStage(*stage) for stage in whole.funnel()))


def _diagnosed(decision: Decision) -> Diagnosis:
    """The diagnosis of a decision; computed now if the decision used a faster path."""
    diagnosis = decision.diagnosis or Diagnosis(decision.profile, decision.pod).run()
    if len(diagnosis.feasible) > 1 and not diagnosis.scores:
        diagnosis.score()
    return diagnosis


def _best(diagnosis: Diagnosis, count: int) -> NDArray[np.intp]:
    """Positions of the best nodes, best first; ties are broken as in the decision."""
    ranks = (diagnosis.total << TIE_BITS) + diagnosis.profile.ties.bits(diagnosis.feasible)
    found = np.argpartition(-ranks, count)[:count] if len(ranks) > count else np.arange(len(ranks))
    best: NDArray[np.intp] = found[np.lexsort((found, -ranks[found]))]
    return best
