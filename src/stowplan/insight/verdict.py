"""Never, not now, or waiting.

A refusal is lasting if it stays as long as pod and node are as they are, whichever pods come or go. A pod for which
every node has a lasting refusal never fits.
"""

from __future__ import annotations

import numpy as np

from stowplan.framework.explanation import Verdict
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.sentences import Dominating


def verdict_of(matrix: FilterMatrix) -> Verdict:
    """For a pod that no node is feasible for."""
    open_ = matrix.alive.copy()
    for plugin, _, nodes in matrix.rejected:
        for slot in np.flatnonzero(nodes & open_).tolist():
            info = matrix.table.infos[slot]
            if info is not None and any(refusal.lasting for refusal in matrix.explain(plugin, info)):
                open_[slot] = False
    return "not-now" if open_.any() else "never"


def verdict_sentence(verdict: Verdict, dominating: Dominating) -> str:
    if verdict == "never":
        return "Never fits, as the pod and the nodes are."
    return f"Not now: {dominating.best.name} {dominating.refusal.text}."
