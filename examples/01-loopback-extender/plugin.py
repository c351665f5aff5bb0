"""Filters and scores nodes by two labels."""

from __future__ import annotations

import msgspec

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject


class Landlord(Plugin):
    """Rejects nodes that are about to be drained and prefers nodes with more stars."""

    name = "landlord"
    scope = "node"
    score_range = (0, 10)

    class Args(msgspec.Struct):
        leaving: str = "example.com/leaving"
        """Label of nodes that are about to be drained."""
        stars: str = "example.com/stars"
        """Label with a node's rating, from 0 to 10."""

    args: Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) are about to be emptied") if self.args.leaving in node.labels else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return float(node.labels.get(self.args.stars, 0))
