"""What both extenders do: keep pods out of a zone and off small nodes, and prefer nodes with much memory."""

from __future__ import annotations

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, reject, reject_forever

_GIB = 1 << 30


class ZoneAndRoom(Plugin):
    """Reads labels and allocatable of every node, as a plugin of any user would."""

    name = "zone-and-room"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if node.labels.get("topology.kubernetes.io/zone") == pod.labels.get("avoid-zone"):
            return reject_forever("the zone is to be avoided")
        if node.allocatable.get("cpu", 0) < pod.template.requests.get("cpu", 0):
            return reject("too little cpu")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        points = min(10, node.allocatable.get("memory", 0) // (13 * _GIB))
        if node.labels.get("node.kubernetes.io/instance-type") == "m7.8xlarge":
            points = min(10, points + 1)
        return 10 * points
