"""The node that plugins read, with the pods on it.

Upstream: pkg/scheduler/framework/types.go (NodeInfo)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from stowplan.api import Node, NodeSpec, NodeStatus, ObjectMeta, Taint, codec
from stowplan.api.read_only import ReadOnlyDict, read_only
from stowplan.framework.pod import Pod


class ResourceReader(Protocol):
    """Source of a NodeInfo's resource amounts; the cache implements it over its columns."""

    def allocatable_of(self, slot: int) -> Mapping[str, int]: ...

    def requested_of(self, slot: int) -> Mapping[str, int]: ...


class NodeInfo:
    """A live view of one node: the fields of the API object that scheduling reads, the node's pods, and its resource
    sums.

    The cache keeps one instance for each node and updates it in place; plugins only read, so mappings are read-only.
    """

    __slots__ = ("_resources", "labels", "name", "node", "pods", "residents", "slot", "source")

    def __init__(self, slot: int, node: Node, resources: ResourceReader) -> None:
        self.slot = slot
        self.node = node
        self.name = node.metadata.name
        self.labels: Mapping[str, str] = MappingProxyType(node.metadata.labels)
        """Labels as a read-only mapping."""
        self.residents: dict[str, Pod] = {}
        """Internal: the pods that `pods` shows; only the cache writes to it."""
        self.pods: Mapping[str, Pod] = MappingProxyType(self.residents)
        """Pods on this node by uid, in the order in which they were added, as a read-only mapping."""
        self.source: Any = None
        """Internal: the whole API object, as JSON or parsed, if it is kept; else None."""
        self._resources = resources

    @property
    def metadata(self) -> ObjectMeta:
        """Metadata of the API object."""
        return self.node.metadata

    @property
    def spec(self) -> NodeSpec:
        """The fields of spec that scheduling reads; others are in `object`."""
        return self.node.spec

    @property
    def status(self) -> NodeStatus:
        """The fields of status that scheduling reads, in snake case (`volumes_attached`) or, untyped, as in manifests
        (`volumesAttached`); others are in `object`."""
        return self.node.status

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations as a read-only mapping."""
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
        """The whole API object, as parsed JSON that is read-only; requires `needs_objects = True` on the plugin. Fields
        are read as attributes too: `node.object.status.node_info`."""
        source = self.source
        if source is None:
            raise AttributeError(f"node {self.name}: whole objects are kept only for plugins with needs_objects = True")
        if not isinstance(source, ReadOnlyDict):
            source = self.source = read_only(codec.whole(source) if isinstance(source, bytes) else source)
        return source

    def __repr__(self) -> str:
        return f"<NodeInfo {self.name}>"
