"""Results of filtering the nodes of a request, in the form that is sent.

Every node of the request either passes or has a reason, exactly once. Reasons do not contain node names, since
kube-scheduler groups nodes by equal reasons.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from stowplan import logs
from stowplan.framework import Code, DecisionRecord, Pod, Rejection, Status
from stowplan.runtime.out_of_tree.plugin_runner import PASSES, NodeVerdicts

log = logs.get(__name__)

_warned: set[str] = set()


class NodeResults:
    """Verdicts by position in the request's names, which are unique."""

    __slots__ = ("codes", "names", "statuses")

    def __init__(self, names: Sequence[str], verdicts: NodeVerdicts) -> None:
        self.names = names
        self.codes: NDArray[np.int32] = verdicts.codes
        self.statuses: Sequence[Status] = verdicts.statuses

    @classmethod
    def uniform(cls, names: Sequence[str], status: Status | None = None) -> NodeResults:
        """One status for all nodes; None if all pass."""
        codes = np.full(len(names), PASSES if status is None else 0, dtype=np.int32)
        return cls(names, NodeVerdicts(codes, [] if status is None else [status]))

    def passing(self) -> list[bool]:
        """By position, whether the node passes."""
        passing: list[bool] = (self.codes == PASSES).tolist()
        return passing

    def failures(self) -> tuple[dict[str, str], dict[str, str]]:
        """Reasons by node: (FailedNodes, FailedAndUnresolvableNodes)."""
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        for code in np.unique(self.codes[self.codes != PASSES]).tolist():
            names = list(compress(self.names, (self.codes == code).tolist()))
            status = self.statuses[code]
            text = reason(status)
            reasons = dict.fromkeys(names, text)
            for name in filter(text.__contains__, names):
                reasons[name] = _without_name(text, name, status.plugin)
            (unresolvable if status.code == Code.UnschedulableAndUnresolvable else failed).update(reasons)
        return failed, unresolvable

    def record(self, pod: Pod) -> DecisionRecord:
        rejected = {}
        for position in np.flatnonzero(self.codes != PASSES).tolist():
            status = self.statuses[self.codes[position]]
            rejected[self.names[position]] = Rejection(status.code.name, status.plugin, status.reasons)
        return DecisionRecord(
            pod=pod.key,
            uid=pod.uid,
            scheduler_name=pod.spec.scheduler_name,
            nodes=len(self.names),
            rejected=rejected,
            feasible=tuple(sorted(compress(self.names, self.passing()))),
        )


def reason(status: Status) -> str:
    """The reasons of a rejection as one text; never empty."""
    text = printable(", ".join(str(part) for part in status.reasons))
    return text or f"rejected by {status.plugin or 'the extender'}"


def printable(text: str) -> str:
    """The text with lone surrogates replaced, which JSON cannot carry."""
    return text.encode(errors="replace").decode()


def _without_name(text: str, name: str, plugin: str) -> str:
    cleaned = re.sub(rf"(?<![\w.-])(?:node )?{re.escape(name)}(?![\w.-])", "node", text)
    if cleaned != text and plugin not in _warned:
        _warned.add(plugin)
        log.warning(
            'Plugin names nodes in its reasons; "node" is sent instead, since kube-scheduler counts equal reasons',
            plugin=plugin,
            reason=text,
        )
    return cleaned
