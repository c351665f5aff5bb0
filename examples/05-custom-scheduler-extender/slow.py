"""An extender that takes its time, to see what a scheduler does then."""

from __future__ import annotations

import time

import msgspec

from stowplan import CycleState, NodeInfo, Nodes, Plugin, Pod


class Slow(Plugin):
    """Prefers the node that the pod's label `example.com/prefer` names, and dawdles at the verb that its label
    `example.com/slow` names."""

    name = "slow"

    class Args(msgspec.Struct):
        seconds: float = 2

    args: Args

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self.dawdle(pod, "filter")

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self.dawdle(pod, "prioritize")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return 100 if node.name == pod.labels.get("example.com/prefer") else 0

    def dawdle(self, pod: Pod, verb: str) -> None:
        if pod.labels.get("example.com/slow") == verb:
            time.sleep(self.args.seconds)
