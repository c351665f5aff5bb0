"""NodeResourceTopology, the custom resource of the plugin NodeResourceTopologyMatch.

Upstream: github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2/types.go
"""

from stowplan.api.meta import Int64, ObjectMeta, Quantity, Wire

__all__ = ["NodeResourceTopology", "TopologyAttribute", "TopologyZone", "ZoneCost", "ZoneResource"]


class TopologyAttribute(Wire, frozen=True, kw_only=True):
    """A named fact about a node or a zone, such as the policy of the topology manager."""

    name: str = ""
    value: str = ""


class ZoneCost(Wire, frozen=True, kw_only=True):
    """The distance to another zone."""

    name: str = ""
    value: Int64 = 0


class ZoneResource(Wire, frozen=True, kw_only=True):
    """The amounts of a resource in a zone."""

    name: str = ""
    capacity: Quantity = 0
    allocatable: Quantity = 0
    available: Quantity = 0


class TopologyZone(Wire, frozen=True, kw_only=True):
    """A zone: a NUMA node if its type is Node."""

    name: str = ""
    type: str = ""
    costs: tuple[ZoneCost, ...] = ()
    resources: tuple[ZoneResource, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()


class NodeResourceTopology(Wire, frozen=True, kw_only=True):
    """The zones of the node of the same name, as an agent on the node reports them."""

    metadata: ObjectMeta = ObjectMeta()
    topology_policies: tuple[str, ...] = ()
    zones: tuple[TopologyZone, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()
