"""The node that plugins read, with the pods on it.

Upstream: pkg/scheduler/framework/types.go (NodeInfo)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from stowplan.api import Node, Taint, codec
from stowplan.framework.pod import Pod


class ResourceReader(Protocol):
    """Source of a NodeInfo's resource amounts; the cache implements it over its columns."""

    def allocatable_of(self, slot: int) -> Mapping[str, int]: ...

    def requested_of(self, slot: int) -> Mapping[str, int]: ...


class NodeInfo:
    """A live view of one node: the fields of the API object that scheduling reads, the node's pods, and its resource
    sums.

    The cache keeps one instance for each node and updates it in place; plugins only read, so mappings of the API object
    are read-only here.
    """

    __slots__ = ("_resources", "labels", "name", "node", "pods", "slot", "source")

    def __init__(self, slot: int, node: Node, resources: ResourceReader) -> None:
        self.slot = slot
        self.node = node
        self.name = node.metadata.name
        self.labels: Mapping[str, str] = MappingProxyType(node.metadata.labels)
        """Labels as a read-only mapping."""
        self.pods: dict[str, Pod] = {}
        """Pods on this node by uid, in the order in which they were added."""
        self.source: Any = None
        """The whole API object, as JSON or parsed, if it is kept; else None."""
        self._resources = resources

    @property
    def annotations(self) -> Mapping[str, str]:
        return MappingProxyType(self.node.metadata.annotations)

    @property
    def taints(self) -> Iterable[Taint]:
        return self.node.spec.taints

    @property
    def unschedulable(self) -> bool:
        return self.node.spec.unschedulable

    @property
    def allocatable(self) -> Mapping[str, int]:
        """Allocatable amounts by resource name: millicores for cpu, whole units for other resources."""
        return self._resources.allocatable_of(self.slot)

    @property
    def requested(self) -> Mapping[str, int]:
        """Sum of the requests of the pods on the node, in the units of `allocatable`."""
        return self._resources.requested_of(self.slot)

    @property
    def object(self) -> Any:
        """The whole API object, as parsed JSON; requires `needs_objects = True` on the plugin."""
        if self.source is None:
            raise AttributeError(f"node {self.name}: whole objects are kept only for plugins with needs_objects = True")
        if isinstance(self.source, bytes):
            self.source = codec.whole(self.source)
        return self.source

    def __repr__(self) -> str:
        return f"<NodeInfo {self.name}>"
