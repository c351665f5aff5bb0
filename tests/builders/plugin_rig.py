"""One in-tree plugin over a cluster.

An in-tree plugin answers node by node and for all nodes at once. The rig takes both answers and checks that they agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Generic, TypeVar, cast

import numpy as np
from tests.builders.objects import node

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.config.args import ARGS
from stowplan.config.releases import LATEST, Release
from stowplan.framework import Code, CycleState, Nodes, Pod, QueueingHint, Status
from stowplan.plugins.base import InTreePlugin

P = TypeVar("P", bound=InTreePlugin)

GONE = node("gone", zone="z1", labels={"disk": "ssd"})
"""A node that is added and removed again, which leaves an empty slot."""


class PluginRig(Generic[P]):
    """A cluster of nodes, pods and other objects, and a plugin with its args.

    Nodes and pods are JSON, or typed objects; `args` are the fields of the plugin's args as a configuration has them.
    """

    def __init__(
        self,
        plugin: type[P],
        nodes: Iterable[Any] = (),
        pods: Iterable[Any] = (),
        objects: Iterable[Any] = (),
        release: Release = LATEST,
        **args: Any,
    ) -> None:
        self.cluster = Cluster(release=release)
        for item in (*nodes, GONE):
            self.put_node(item)
        for item in pods:
            self.add_pod(item)
        self.cluster.remove_node("gone")
        for item in objects:
            self.cluster.put(item)
        settings = codec.convert(ARGS[plugin.name], args) if plugin.name in ARGS else None
        self.plugin = plugin(settings, cast(Any, SimpleNamespace(cluster=self.cluster)))

    def put_node(self, item: Any) -> None:
        self.cluster.put_node(codec.convert(api.Node, item) if isinstance(item, dict) else item)

    def pod(self, item: Any) -> Pod:
        """A pod that is not in the cluster."""
        return self.cluster.pod(codec.convert(api.Pod, item) if isinstance(item, dict) else item)

    def add_pod(self, item: Any) -> None:
        self.cluster.add_pod(self.pod(item))

    def pre_filter(self, pod: Pod) -> CycleState | None:
        """The cycle's state after PreFilter, or None where the plugin skips its Filter."""
        state = CycleState()
        status = self.plugin.pre_filter(state, pod, self.cluster.nodes.everything())
        assert status is None or status.code == Code.Skip
        return state if status is None else None

    def filter(self, pod: Pod, state: CycleState | None = None) -> dict[str, Status]:
        """The statuses of nodes that Filter rejects, by node."""
        return filter_statuses(self.plugin, self.cluster, pod, CycleState() if state is None else state)

    def reasons(self, pod: Pod) -> dict[str, str]:
        """The message of PreFilter and Filter for every node; "" where it passes."""
        state = self.pre_filter(pod)
        rejected = {} if state is None else self.filter(pod, state)
        return {info.name: message(rejected.get(info.name)) for info in self.cluster.nodes}

    def nodes(self, names: Iterable[str], *, as_slice: bool = False) -> Nodes:
        """Nodes by name, given by their slots, or as a slice of all slots without the others."""
        table = self.cluster.nodes
        slots = np.array(sorted(table.slot_of[name] for name in names), dtype=np.intp)
        if not as_slice:
            return table.subset(slots)
        nodes = table.everything()
        return type(nodes)(nodes.index, nodes.count, table.infos, np.setdiff1d(np.arange(nodes.count), slots))

    def scores(self, pod: Pod, feasible: Iterable[str], *, as_slice: bool = False) -> dict[str, tuple[int, int]] | None:
        """Scores before and after normalization by node, or None where PreScore skips the plugin."""
        nodes, state = self.nodes(feasible, as_slice=as_slice), CycleState()
        status = self.plugin.pre_score(state, pod, nodes)
        if status is not None:
            assert status.code == Code.Skip
            return None
        positions = {info.name: position for position, info in nodes.infos()}
        raw = self.plugin.score_nodes(state, pod, nodes)
        before = {info.name: self.plugin.score(state, pod, info) for _, info in nodes.infos()}
        assert before == {name: raw[position] for name, position in positions.items()}
        final, after = self.plugin.normalize_nodes(state, pod, raw, nodes), cast(Any, dict(before))
        self.plugin.normalize_score(state, pod, after)
        assert after == {name: final[position] for name, position in positions.items()}
        return {name: (int(before[name]), int(after[name])) for name in positions}

    def hint(self, registration: int, pod: Pod, old: Any, new: Any) -> QueueingHint:
        """What the hint of a registered event returns; JSON of pods becomes pods of the cluster."""
        function = list(self.plugin.events_to_register())[registration].hint
        assert function is not None
        return function(pod, *(self._seen(item) for item in (old, new)))

    def _seen(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        is_pod = "nodeName" in item["spec"] or "containers" in item["spec"]
        return self.pod(item) if is_pod else codec.convert(api.Node, item)


def filter_statuses(plugin: InTreePlugin, cluster: Cluster, pod: Pod, state: CycleState) -> dict[str, Status]:
    """The statuses of nodes that a plugin's Filter rejects; the answers for all nodes at once and one by one agree."""
    nodes = cluster.nodes.everything()
    vector: dict[str, Status] = {}
    for mask, status in plugin.filter_nodes(state, pod, nodes):
        for position, info in nodes.infos():
            if mask[position]:
                assert info.name not in vector, "masks overlap"
                vector[info.name] = status
    passing = plugin.passing_nodes(state, pod, nodes)
    assert {info.name for position, info in nodes.infos() if not passing[position]} == vector.keys()
    scalar = {info.name: plugin.filter(state, pod, info) for info in cluster.nodes}
    assert vector == {name: status for name, status in scalar.items() if status is not None}
    return vector


def message(status: Status | None) -> str:
    return "" if status is None else status.message


def queue_if(queued: bool) -> QueueingHint:
    return QueueingHint.Queue if queued else QueueingHint.QueueSkip
