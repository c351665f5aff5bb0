"""Pods that want you get one node, and that node alone."""

from __future__ import annotations

import msgspec

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject_forever


class WantYou(Plugin):
    """Pods labelled `want: you` may use one node only. Others may use none, unless the rule is the kinder one."""

    name = "want-you"
    scope = "node"

    class Args(msgspec.Struct):
        node: str = "10-9-101-66"
        kinder: bool = False
        """Let pods without the label go where they like."""

    args: Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if pod.labels.get("want") != "you":
            return None if self.args.kinder else reject_forever("pod(s) did not want you")
        return None if node.name == self.args.node else reject_forever("node(s) were not the one that is wanted")
