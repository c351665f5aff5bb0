"""Nominated pods: pending pods for which preemption makes room on a node.

Upstream: pkg/scheduler/backend/queue/nominator.go
"""

from __future__ import annotations

from collections.abc import Collection

from stowplan.framework import Pod

MAX_LOGGED_CHANGES = 64
"""Latest changes that `changed_since` can list."""


class Nominator:
    """Nominated pods by node."""

    def __init__(self) -> None:
        self.version = 0
        """Increases by one with every nomination that is added or removed."""
        self._changes: list[str] = []
        """The nodes of the latest changes."""
        self._node_of: dict[str, str] = {}
        self.by_node: dict[str, dict[str, Pod]] = {}

    def add(self, pod: Pod, node_name: str = "") -> None:
        """Nominate a pod to the given node, else to the one in its status; without either, clear its nomination."""
        self.remove(pod)
        node_name = node_name or pod.nominated_node_name
        if node_name and not pod.node_name:
            self._changed(node_name)
            self._node_of[pod.uid] = node_name
            self.by_node.setdefault(node_name, {})[pod.uid] = pod

    def update(self, old: Pod, new: Pod) -> None:
        """The pod was updated. A nomination that neither version's status has stays: its patch is under way."""
        unwritten = not old.nominated_node_name and not new.nominated_node_name
        self.add(new, self._node_of.get(new.uid, "") if unwritten else "")

    def remove(self, pod: Pod) -> None:
        node_name = self._node_of.pop(pod.uid, None)
        if node_name is not None:
            self._changed(node_name)
            pods = self.by_node[node_name]
            del pods[pod.uid]
            if not pods:
                del self.by_node[node_name]

    def changed_since(self, version: int) -> list[str] | None:
        """The nodes whose nominations changed since a version, with repeats; None if these are too many."""
        behind = self.version - version
        return None if behind > MAX_LOGGED_CHANGES else self._changes[len(self._changes) - behind :]

    def _changed(self, node_name: str) -> None:
        self.version += 1
        self._changes.append(node_name)
        if len(self._changes) > 2 * MAX_LOGGED_CHANGES:
            del self._changes[:MAX_LOGGED_CHANGES]

    def node_of(self, pod: Pod) -> str:
        return self._node_of.get(pod.uid, "")

    def on_node(self, node_name: str) -> Collection[Pod]:
        return self.by_node.get(node_name, {}).values()
