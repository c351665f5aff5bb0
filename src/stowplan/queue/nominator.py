"""Pods that wait for room on a node which preemption clears for them."""

from __future__ import annotations

from collections.abc import Collection

from stowplan.framework import Pod


class Nominator:
    """Which pending pods are nominated to which node."""

    def __init__(self) -> None:
        self._node_of: dict[str, str] = {}
        self.by_node: dict[str, dict[str, Pod]] = {}

    def add(self, pod: Pod, node_name: str = "") -> None:
        """Nominate a pod to a node: the one given, else the one that its status names; else it is nominated nowhere."""
        self.remove(pod)
        node_name = node_name or pod.nominated_node_name
        if node_name and not pod.node_name:
            self._node_of[pod.uid] = node_name
            self.by_node.setdefault(node_name, {})[pod.uid] = pod

    def update(self, old: Pod, new: Pod) -> None:
        """The pod has changed. A nomination that its status did not and does not name is one whose patch is still on
        the way: it stays."""
        unwritten = not old.nominated_node_name and not new.nominated_node_name
        self.add(new, self._node_of.get(new.uid, "") if unwritten else "")

    def remove(self, pod: Pod) -> None:
        node_name = self._node_of.pop(pod.uid, None)
        if node_name is not None:
            pods = self.by_node[node_name]
            del pods[pod.uid]
            if not pods:
                del self.by_node[node_name]

    def node_of(self, pod: Pod) -> str:
        return self._node_of.get(pod.uid, "")

    def on_node(self, node_name: str) -> Collection[Pod]:
        return self.by_node.get(node_name, {}).values()
