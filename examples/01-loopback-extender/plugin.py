"""Two questions about each node, from what the request says of it: may the pod go there, and how gladly."""

from __future__ import annotations

import msgspec

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject


class Landlord(Plugin):
    """Pods stay off nodes that are about to be emptied, and prefer those that their owner recommends."""

    name = "landlord"
    scope = "node"
    score_range = (0, 10)

    class Args(msgspec.Struct):
        leaving: str = "example.com/leaving"
        """The label of nodes that are about to be emptied."""
        stars: str = "example.com/stars"
        """The label that says how good a node is, from 0 to 10."""

    args: Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) are about to be emptied") if self.args.leaving in node.labels else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return float(node.labels.get(self.args.stars, 0))
