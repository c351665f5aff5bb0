"""The verdict: a decision record in the form of the recorded verdicts of kube-scheduler."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.framework import DecisionRecord


def verdict_of(record: DecisionRecord) -> dict[str, Any]:
    """The verdict without empty fields; `feasible` is always present."""
    verdict: dict[str, Any] = {
        "preEnqueue": record.pre_enqueue,
        "preFilter": record.pre_filter,
        "preFilterNodes": record.pre_filter_nodes,
        "filter": record.rejected,
        "scores": {
            node: {plugin: score.weighted for plugin, score in scores.items()} for node, scores in record.scores.items()
        },
        "total": record.totals,
        "message": record.message,
    }
    if record.preemption is not None:
        verdict["preemptionCandidates"] = record.preemption.candidates
        verdict["preemptionSelected"] = record.preemption.tied
    given = {key: value for key, value in verdict.items() if value}
    return msgspec.to_builtins({**given, "feasible": record.feasible})  # type: ignore[no-any-return]
