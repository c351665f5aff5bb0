"""DefaultBinder: tells the API server where the pod goes."""

from __future__ import annotations

from stowplan.framework import CycleState, Pod, Status, error
from stowplan.plugins.base import InTreePlugin


class DefaultBinder(InTreePlugin):
    """Binding is a write to the API server; without a connection to one there is nothing to bind with."""

    name = "DefaultBinder"

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return error(f"binding pod {pod.key} to node {node_name} needs a connection to a cluster")
