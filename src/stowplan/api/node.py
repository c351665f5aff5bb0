"""Nodes: what they offer and whom they keep away."""

from msgspec import field

from stowplan.api.meta import Condition, Int64, ObjectMeta, ResourceList, Wire

__all__ = ["AttachedVolume", "ContainerImage", "Node", "NodeSpec", "NodeStatus", "Taint"]


class Taint(Wire, frozen=True, kw_only=True):
    """A mark that repels pods which do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True, kw_only=True):
    """Taints, and whether the node is cordoned."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire, frozen=True, kw_only=True):
    """An image that the node already holds, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class AttachedVolume(Wire, frozen=True, kw_only=True):
    """A volume attached to the node."""

    name: str = ""
    device_path: str = ""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """What the node can give."""

    capacity: ResourceList = field(default_factory=dict)
    allocatable: ResourceList = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Wire, frozen=True, kw_only=True):
    """A machine that runs pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
