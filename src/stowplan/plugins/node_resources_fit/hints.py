"""Queueing hints of NodeResourcesFit: the events that may make room for a rejected pod.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go (isSchedulableAfterPodEvent,
isSchedulableAfterNodeChange)
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.quantity import milli_value, value
from stowplan.cache import Cluster
from stowplan.cache.device_classes import IMPLICIT_PREFIX, backing_device_class

QUEUE, SKIP = fwk.QueueingHint.Queue, fwk.QueueingHint.QueueSkip


def after_pod_event(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    """A deleted pod frees its requests; a pod that is scaled down frees the difference."""
    if new is None:
        return QUEUE if old is not None and (old.node_name or old.nominated_node_name) else SKIP
    if new.uid == pod.uid:
        return QUEUE
    if old is None or not new.node_name:
        return SKIP
    before, after = _used(old), _used(new)
    wanted = (name for name, amount in pod.template.requests.items() if amount)
    return QUEUE if any(after.get(name, 0) < before.get(name, 0) for name in wanted) else SKIP


class NodeHint:
    """Hint for events of nodes. `cluster` has the device classes that provide extended resources; None without them."""

    def __init__(self, cluster: Cluster | None) -> None:
        self._cluster = cluster

    def __call__(self, pod: fwk.Pod, old: api.Node | None, new: api.Node | None) -> fwk.QueueingHint:
        """Queue if the node could hold the pod when empty and, for an update, offers more than before, or leaves a
        resource to devices."""
        if new is None or not _allowed_pods(new):
            return SKIP
        wanted = {name: amount for name, amount in pod.template.requests.items() if amount}
        short = [name for name, amount in wanted.items() if amount > _offer(new, name)]
        if not all(self._is_delegated(name, new) for name in short):
            return SKIP
        if short or old is None or _allowed_pods(new) > _allowed_pods(old):
            return QUEUE
        return QUEUE if any(_offer(new, name) > _offer(old, name) for name in wanted) else SKIP

    def _is_delegated(self, resource: str, node: api.Node) -> bool:
        """Whether devices of a class provide the resource, since the node itself does not."""
        if self._cluster is None or _offer(node, resource) > 0:
            return False
        return backing_device_class(self._cluster, resource) is not None


def after_device_class_event(
    pod: fwk.Pod, old: api.DeviceClass | None, new: api.DeviceClass | None
) -> fwk.QueueingHint:
    """Queue if a device class begins to provide an extended resource that the pod requests."""
    if new is None:
        return SKIP
    names = {IMPLICIT_PREFIX + new.metadata.name, new.spec.extended_resource_name}
    if old is not None:
        names = {new.spec.extended_resource_name} - {old.spec.extended_resource_name}
    return QUEUE if any(name in names for name, amount in pod.template.requests.items() if amount) else SKIP


def _allowed_pods(node: api.Node) -> int:
    return value(node.status.allocatable.get("pods", 0))


def _offer(node: api.Node, resource: str) -> int:
    return (milli_value if resource == "cpu" else value)(node.status.allocatable.get(resource, 0))


def _used(pod: fwk.Pod) -> Mapping[str, int]:
    return pod.template.requests if pod.used is None else pod.used[0]
