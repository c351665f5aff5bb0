"""PodState: prefers nodes with terminating pods, and avoids nodes to which pods are nominated.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/podstate/pod_state.go
"""

from __future__ import annotations

from typing import cast

import numpy as np

from stowplan import framework as fwk
from stowplan.optional_plugins.base.kept_numbers import KeptNumbers
from stowplan.optional_plugins.base.min_max_score import MinMaxScore
from stowplan.plugins.base import InTreeHandle


class PodState(MinMaxScore):
    """Raw score: terminating pods on the node less pods nominated to it."""

    name = "PodState"

    def __init__(self, args: object, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._terminating = KeptNumbers(self.nodes, lambda info: (_terminating(info),), 1)

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return _terminating(node) - len(list(self.handle.nominated_pods(node.name)))

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        scores: fwk.Scores = self._terminating.of(nodes)[0].astype(np.int64)
        nominations = cast(InTreeHandle, self.handle).nominations()
        if nominations:
            for position, info in nodes.infos():
                scores[position] -= len(nominations.get(info.name, ()))
        return scores

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        nominated = len(list(self.handle.nominated_pods(node.name)))
        return f"{_terminating(node)} pods are terminating and {nominated} are nominated there"


def _terminating(node: fwk.NodeInfo) -> int:
    return sum(pod.terminating for pod in node.pods.values())
