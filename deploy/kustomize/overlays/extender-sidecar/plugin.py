"""The plugin of the sidecar. Replace it with yours."""

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject


class Closed(Plugin):
    """Rejects nodes that are labelled as closed."""

    name = "Closed"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) were closed") if node.labels.get("example.com/closed") == "true" else None
