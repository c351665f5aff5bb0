"""Pins pods with the label `want: you` to one node."""

from __future__ import annotations

import msgspec

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject_forever


class WantYou(Plugin):
    """Allows pods labelled `want: you` on one node only, and other pods on no node unless `kinder` is set."""

    name = "want-you"
    scope = "node"

    class Args(msgspec.Struct):
        node: str = "10-9-101-66"
        kinder: bool = False
        """Allow pods without the label on every node."""

    args: Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if pod.labels.get("want") != "you":
            return None if self.args.kinder else reject_forever("pod(s) did not want you")
        return None if node.name == self.args.node else reject_forever("node(s) were not the one that is wanted")
