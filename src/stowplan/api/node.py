"""Nodes.

Upstream: k8s.io/api/core/v1/types.go
"""

from stowplan.api.meta import Condition, Int64, ObjectMeta, ResourceList, Wire
from stowplan.api.read_only import EMPTY

__all__ = ["AttachedVolume", "ContainerImage", "Node", "NodeSpec", "NodeStatus", "Taint"]


class Taint(Wire, frozen=True, kw_only=True):
    """A taint, which repels pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True, kw_only=True):
    """Taints, and whether the node is unschedulable (cordoned)."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire, frozen=True, kw_only=True):
    """An image on the node, with all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class AttachedVolume(Wire, frozen=True, kw_only=True):
    """A volume attached to the node."""

    name: str = ""
    device_path: str = ""


class NodeSystemInfo(Wire, frozen=True, kw_only=True):
    """Versions that the kubelet reports; explanations name them."""

    kubelet_version: str = ""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """Allocatable resources, images and attached volumes."""

    capacity: ResourceList = EMPTY
    allocatable: ResourceList = EMPTY
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    declared_features: tuple[str, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Wire, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
