"""Out-of-tree plugins that the benchmarks measure: plain Python, one node at a time."""

from __future__ import annotations

from typing import ClassVar

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Scope, Status, reject, reject_forever
from stowplan.framework.plugin import Normalizer

_GIB = 1 << 30


class RackCare(Plugin):
    """Keeps pods off racks under maintenance, and prefers racks that are cool."""

    name = "RackCare"
    scope: ClassVar[Scope] = "node"
    normalize: ClassVar[Normalizer | None] = "min-max"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if node.labels.get("example.com/rack-state") == "maintenance":
            return reject("node(s) were in a rack under maintenance")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return float(node.labels.get("example.com/spare-cooling", 0))


class ZoneAndRoom(Plugin):
    """The rule of both measured extenders: rejects a zone and small nodes, prefers nodes with much memory."""

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
