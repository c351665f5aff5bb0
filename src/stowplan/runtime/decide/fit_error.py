"""The message of a pod that fits no node.

Upstream: pkg/scheduler/framework/types.go (FitError.Error)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from stowplan.runtime.decide.diagnosis import Diagnosis


def histogram(reasons: Mapping[str, int]) -> str:
    """Reasons with their counts, sorted as whole strings: "10 x" comes before "2 y"."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))


def none_available(total: int, reasons: str) -> str:
    """The sentence of every failure to find a node."""
    return f"0/{total} nodes are available: {reasons}." if reasons else f"0/{total} nodes are available:"


def fit_error(diagnosis: Diagnosis, post_filter_message: str = "") -> str:
    """`0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).`"""
    refusal = diagnosis.pre_filtered.status
    reasons = histogram(reason_counts(diagnosis)) if refusal is None else refusal.message
    text = none_available(diagnosis.node_count, reasons)
    return f"{text} {post_filter_message}" if post_filter_message else text


def reason_counts(diagnosis: Diagnosis) -> Counter[str]:
    """The number of nodes by reason; nodes that were not filtered share the absent status."""
    counts: Counter[str] = Counter()
    nodes = np.bincount(diagnosis.verdicts + 1, minlength=len(diagnosis.statuses) + 1).tolist()[1:]
    for status, count in zip(diagnosis.statuses, nodes, strict=True):
        for reason in status.reasons:
            counts[reason] += count
    absent = diagnosis.absent
    if absent is not None:
        left_out = diagnosis.node_count - sum(nodes)
        for reason in absent.reasons:
            counts[reason] += left_out
    return Counter({reason: count for reason, count in counts.items() if count})
