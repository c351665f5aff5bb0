"""A slow extender, to show what a scheduler does after a timeout."""

from __future__ import annotations

import time

import msgspec

from stowplan import CycleState, NodeInfo, Nodes, Plugin, Pod


class Slow(Plugin):
    """Prefers the node in the pod's label `example.com/prefer`; sleeps in the verb in its label `example.com/slow`."""

    name = "slow"

    class Args(msgspec.Struct):
        seconds: float = 2

    args: Args

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self.sleep_in(pod, "filter")

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self.sleep_in(pod, "prioritize")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return 100 if node.name == pod.labels.get("example.com/prefer") else 0

    def sleep_in(self, pod: Pod, verb: str) -> None:
        if pod.labels.get("example.com/slow") == verb:
            time.sleep(self.args.seconds)
