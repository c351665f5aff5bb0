"""A plugin with an opinion about most nodes, to be run wherever plugins can be run."""

from __future__ import annotations

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject, reject_forever


class Racks(Plugin):
    """Pods name a tier; nodes have a tier and a rack. What it reads is on the pod and on the node, nowhere else."""

    name = "Racks"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        tier = pod.labels.get("tier", "")
        if tier and node.labels.get("tier") != tier:
            return reject("wrong tier")
        if node.annotations.get("retired") == "yes":
            return reject_forever("retired")
        if "big" in pod.labels and node.allocatable.get("cpu", 0) < 4000:
            return reject("too small for big pods")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return int(node.labels.get("rack", "0"))
