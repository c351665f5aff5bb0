"""Node groups: pools whose nodes an autoscaler adds and removes.

The size of a group follows the Node objects. A node that is deleted, by whatever cause, leaves its group, as if the
cloud lowered the group's target size; the autoscaler requests another one when pods need it. A node that comes back
belongs to its group again, even above the maximum. A loss below the minimum alone causes no scale-up, as in
cluster-autoscaler without --enforce-node-group-min-size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from stowplan import api
from stowplan.api.tolerations import NO_SCHEDULE
from stowplan.simulator.api_server import ApiServer, StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.node_lifecycle import NodeLifecycle

NOT_READY = api.Taint(key="node.kubernetes.io/not-ready", effect=NO_SCHEDULE)


class Pool(Protocol):
    """The nodes of a group."""

    name: str
    count: int
    price: float
    template: api.Node

    def zone_for(self, present: dict[str, int]) -> str: ...

    def node(self, number: int, zone: str, *, ready: bool = True) -> api.Node: ...


class NodeGroup:
    """A pool with its bounds and its nodes."""

    def __init__(self, pool: Pool, low: int, high: int, priority: int, startup: Callable[[], float]) -> None:
        """`startup` draws the time until a new node is Ready."""
        self.pool = pool
        self.low = low
        self.high = high
        self.priority = priority
        self.startup = startup
        self.nodes: dict[str, str] = {}
        """Zones by name, of nodes that exist, Ready or not."""
        self.upcoming: set[str] = set()
        """Nodes that are not Ready yet."""
        self.leaving: set[str] = set()
        """Nodes that are being drained."""
        self.backoff_until = 0.0
        self._number = pool.count

    @property
    def name(self) -> str:
        return self.pool.name

    @property
    def size(self) -> int:
        return len(self.nodes) - len(self.leaving)

    def next_node(self, *, ready: bool) -> api.Node:
        """The next new node; its zone follows the weights."""
        self._number += 1
        zones: dict[str, int] = {}
        for zone in self.nodes.values():
            zones[zone] = zones.get(zone, 0) + 1
        return self.pool.node(self._number, self.pool.zone_for(zones), ready=ready)

    def template_node(self, number: int) -> api.Node:
        """A node that does not exist, to try pods on."""
        zones: dict[str, int] = {}
        for zone in self.nodes.values():
            zones[zone] = zones.get(zone, 0) + 1
        node = self.pool.node(0, self.pool.zone_for(zones))
        name = f"template-node-for-{self.name}-{number}"
        labels = {**node.metadata.labels, "kubernetes.io/hostname": name}
        return replace(node, metadata=replace(node.metadata, name=name, labels=labels))


class NodeGroups:
    """All groups of an autoscaler, and the changes of their nodes."""

    def __init__(
        self,
        groups: list[NodeGroup],
        server: ApiServer,
        lifecycle: NodeLifecycle,
        note: Callable[[str, str, str], None],
        pool_label: str,
        zone_label: str,
    ) -> None:
        """The labels name the pool and the zone of a node."""
        self.groups = groups
        self.server = server
        self.lifecycle = lifecycle
        self._note = note
        self._pool_label = pool_label
        self._zone_label = zone_label
        self._by_pool = {group.name: group for group in groups}
        for node in server.all(api.Node):
            self._node_changed(None, node)
        server.listen(api.Node, self._node_changed)

    def _node_changed(self, old: api.Node | None, new: api.Node | None) -> None:
        """Nodes enter and leave their groups as they are created and deleted."""
        node = new or old
        group = None if node is None else self._by_pool.get(node.metadata.labels.get(self._pool_label, ""))
        if node is None or group is None:
            return
        name = node.metadata.name
        group.upcoming.discard(name)
        if new is None:
            group.nodes.pop(name, None)
            group.leaving.discard(name)
            return
        group.nodes[name] = node.metadata.labels.get(self._zone_label, "")
        if NOT_READY in node.spec.taints:
            group.upcoming.add(name)

    def group_of(self, node_name: str) -> NodeGroup | None:
        return next((group for group in self.groups if node_name in group.nodes), None)

    def add(self, group: NodeGroup, count: int, give_up_after: float, backoff: float) -> None:
        """Request nodes: they exist at once, and are Ready after the group's startup time."""
        for _ in range(count):
            startup = group.startup()
            node = group.next_node(ready=startup <= 0)
            name = node.metadata.name
            self._note("scale up", name, group.name)
            if startup <= 0:
                self.server.put(node)
                continue
            self.server.put(replace(node, spec=replace(node.spec, taints=(*node.spec.taints, NOT_READY))))
            if startup > give_up_after:
                self._at(give_up_after, partial(self._give_up, group, name, backoff))
            else:
                self._at(startup, partial(self.lifecycle.change, name, _become_ready))

    def _give_up(self, group: NodeGroup, name: str, backoff: float) -> None:
        """The node did not become Ready in time."""
        if name not in group.upcoming:
            return
        self._note("provisioning failed", name, group.name)
        group.backoff_until = self.server.clock() + backoff
        self._remove(name)

    def remove(self, group: NodeGroup, name: str, cause: str) -> None:
        """Drain a node, respecting budgets, and remove it."""
        if name in group.leaving:
            return
        group.leaving.add(name)
        self._note("scale down", name, cause)
        self.lifecycle.drain(name, cause, partial(self._remove, name))

    def _remove(self, name: str) -> None:
        self.lifecycle.forget(name)
        node = self.server.get(api.Node, name)
        if node is not None:
            self.server.delete(node)

    def _at(self, delay: float, step: Callable[[], None]) -> None:
        self.server.at(to_microseconds(self.server.clock() + delay), step, StepOrder.NODE)


def _become_ready(node: api.Node) -> api.Node:
    conditions = (api.Condition(type="Ready", status="True"),)
    taints = tuple(taint for taint in node.spec.taints if taint != NOT_READY)
    return replace(node, spec=replace(node.spec, taints=taints), status=replace(node.status, conditions=conditions))
