"""A closer look at decisions, for those who ask for one: it takes a diagnosis of the nodes for every pod that fits."""

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

MANY_NODES = 100
"""From here on, a decision is told with its best nodes only."""

BEST_NODES = 10

_FAST = 1


class TopScores(NamedTuple):
    """The chosen node and the next best one; a node that is alone is not scored."""

    score: int | None = None
    runner_up: str = ""
    runner_up_score: int | None = None


def podium(decision: Decision, attempt: int) -> TopScores:
    """How close it was."""
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
        # Only some of the nodes were looked at, and which ones cannot be told any more.
        return TopScores()
    return TopScores(score, *totals.popitem())


def recording(*, all_nodes: bool) -> Examine:
    """Decision records as JSON, compressed; `unpack` gives them back."""
    return partial(_record, all_nodes)


def unpack(packed: bytes) -> msgspec.Raw:
    return msgspec.Raw(zlib.decompress(packed))


def _record(all_nodes: bool, decision: Decision, attempt: int) -> bytes:
    brief = len(decision.profile.cluster.nodes) > MANY_NODES and not all_nodes and decision.error is None
    try:
        record = _brief(decision, attempt) if brief else decision.record(attempt)
    except CycleError as failure:
        # A user's plugin stumbles over a node that did not have to be asked about.
        pod = decision.pod
        record = DecisionRecord(pod=pod.key, uid=pod.uid, attempt=attempt, node=decision.node_name, error=str(failure))
    return zlib.compress(msgspec.json.encode(record), _FAST)


def _brief(decision: Decision, attempt: int) -> DecisionRecord:
    """The record without the nodes that were refused, and with the best of those that were not."""
    whole = _diagnosed(decision)
    diagnosis = copy.copy(whole)
    diagnosis.verdicts = np.full_like(whole.verdicts, -1)
    if len(whole.total):
        best = np.sort(_best(whole, BEST_NODES))
        diagnosis.feasible, diagnosis.total = whole.feasible[best], whole.total[best]
        diagnosis.scores = [
            PluginScores(each.plugin, each.weight, each.raw[best], each.normalized[best]) for each in whole.scores
        ]
    diagnosis.examined = diagnosis.feasible
    told = record_of(diagnosis, decision.preemption, attempt=attempt, node=decision.node_name, message=decision.message)
    return msgspec.structs.replace(told, funnel=tuple(FunnelStage(*stage) for stage in whole.funnel()))


def _diagnosed(decision: Decision) -> Diagnosis:
    """What all plugins said; made now where the decision took a shorter way."""
    diagnosis = decision.diagnosis or Diagnosis(decision.profile, decision.pod).run()
    if len(diagnosis.feasible) > 1 and not diagnosis.scores:
        diagnosis.score()
    return diagnosis


def _best(diagnosis: Diagnosis, count: int) -> NDArray[np.intp]:
    """The positions of the best nodes, the best one first; ties are broken as for the choice of a node."""
    ranks = (diagnosis.total << TIE_BITS) + diagnosis.profile.ties.noise[diagnosis.feasible]
    found = np.argpartition(-ranks, count)[:count] if len(ranks) > count else np.arange(len(ranks))
    best: NDArray[np.intp] = found[np.lexsort((found, -ranks[found]))]
    return best
