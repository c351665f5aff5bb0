"""A plugin as a user would write it: plain Python, one node at a time."""

from typing import ClassVar

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Scope, Status, reject
from stowplan.framework.plugin import Normalizer


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
