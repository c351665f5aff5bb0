"""The output: a Decision record in the form in which verdicts of kube-scheduler are recorded."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.framework import DecisionRecord


def verdict_of(record: DecisionRecord) -> dict[str, Any]:
    """Only what applies is there; `feasible` always is."""
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
    told = {key: value for key, value in verdict.items() if value}
    return msgspec.to_builtins({**told, "feasible": record.feasible})  # type: ignore[no-any-return]
