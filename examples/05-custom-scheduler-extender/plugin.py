"""Nodes belong to teams: filter, score and bind."""

from __future__ import annotations

import logging

import msgspec

from stowplan import CycleState, Handle, NodeInfo, Plugin, Pod, Status, reject_forever
from stowplan.extender import PodWriter

log = logging.getLogger("custom-scheduler-extender")
log.setLevel(logging.INFO)


class Teams(Plugin):
    """Rejects nodes of other teams, prefers nodes of the pod's team to shared nodes, and binds the pod."""

    name = "teams"
    scope = "node"

    class Args(msgspec.Struct):
        label: str = "example.com/team"
        """Label with the team of a pod or a node; a node without it is shared."""

    args: Args

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        self.pods = PodWriter(handle)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        owner = node.labels.get(self.args.label)
        if owner is None or owner == pod.labels.get(self.args.label):
            return None
        return reject_forever("node(s) belong to another team")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        """A node that passed the filter and has the label belongs to the pod's team."""
        return 100 if self.args.label in node.labels else 0

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        log.info("binding %s to %s", pod.key, node_name)
        return await self.pods.bind(pod, node_name)
