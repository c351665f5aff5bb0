"""Thrift: rejects nodes above the pod's budget and prefers the cheapest."""

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject


class Thrift(Plugin):
    """Reads two labels: a node's price and a pod's budget, per hour."""

    name = "Thrift"
    scope = "node"
    normalize = "reverse"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        budget = pod.labels.get("example.com/budget")
        if budget is not None and price(node) > float(budget):
            return reject("node(s) cost more than the pod may spend")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return price(node)


def price(node: NodeInfo) -> float:
    return float(node.labels.get("example.com/price", 0))
