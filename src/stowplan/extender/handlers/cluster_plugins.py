"""Plugins bound to one cluster, asked about the nodes of a request."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import Cluster
from stowplan.errors import PluginError
from stowplan.extender.handlers.node_results import NodeResults
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.policy import GroupMember
from stowplan.extender.handlers.request_nodes import RequestNodes
from stowplan.framework import Code, Mask, Plugin, Pod, Slots, Status
from stowplan.queue.nominator import Nominator
from stowplan.runtime.decide.filtering import PreFiltered, absent_status
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.out_of_tree.plugin_runner import PASSES, NodeVerdicts, Pause, PluginRunner
from stowplan.runtime.profile.build import instantiate
from stowplan.runtime.profile.handle import ProfileHandle

UNKNOWN_NODE = Status(Code.UnschedulableAndUnresolvable, "node(s) not known to the extender yet")
"""What a node gets that was named and that no cache has heard of."""

Chosen = list[tuple[OutOfTreePlugin, int]]
"""Plugins that are for a pod, with their weights."""


class ClusterPlugins:
    """The members' plugins, each instance knowing this cluster and no other."""

    def __init__(self, members: Sequence[GroupMember], cluster: Cluster) -> None:
        self.cluster = cluster
        self.shelf = RequestNodes(cluster)
        self._members = members
        handle = ProfileHandle("extender", cluster, Nominator())
        self.plugins: list[Plugin] = []
        for member in members:
            plugin = instantiate(member.factory, member.name, member.args, handle)
            if any(plugin.name == other.name for other in self.plugins):
                raise PluginError(f'there are two plugins named "{plugin.name}"')
            self.plugins.append(plugin)
        self.panel = PluginRunner(cluster, self.plugins)
        self._looked_up: tuple[Sequence[str], int, Slots] = ((), 0, np.zeros(0, dtype=np.intp))

    def chosen(self, pod: Pod) -> Chosen:
        """The plugins that have to do with the pod."""
        return [
            (plugin, member.weight)
            for member, plugin in zip(self._members, self.panel.plugins, strict=True)
            if member.selector.matches(pod) and plugin.concerns(pod.template)
        ]

    def sure_of(self, names: Sequence[str]) -> bool:
        """Whether it is plain to see that all nodes are known, and none is named twice."""
        slots = self._slots(names)
        return len(slots) > 0 and slots.min() >= 0 and np.bincount(slots).max() == 1

    def knows(self, names: Sequence[str]) -> Mask:
        """Which of the nodes are in the cluster."""
        known: Mask = self._slots(names) >= 0
        return known

    def filter(self, chosen: Chosen, cycle: PodCycle, names: Sequence[str], pause: Pause) -> NodeResults:
        """PreFilter and Filter."""
        slots = self._slots(names)
        pre_filtered = self._prepare(chosen, cycle, slots)
        if pre_filtered.status is not None:
            return NodeResults.uniform(names, pre_filtered.status)
        asked = slots >= 0
        if pre_filtered.names is not None:
            wanted = pre_filtered.names
            asked &= np.fromiter((name in wanted for name in names), dtype=np.bool_, count=len(names))
        plugins = [plugin for plugin, _ in chosen]
        verdicts = self.panel.filter(plugins, cycle.state, cycle.pod, slots[asked], pause)
        if asked.all():
            return NodeResults(names, verdicts)
        codes = np.full(len(names), PASSES, dtype=np.int32)
        codes[asked] = verdicts.codes
        if pre_filtered.names is not None:
            codes[~asked] = self.panel.number(absent_status(pre_filtered.restricting))
        codes[slots < 0] = self.panel.number(UNKNOWN_NODE)
        return NodeResults(names, NodeVerdicts(codes, verdicts.statuses))

    def score(self, chosen: Chosen, cycle: PodCycle, names: Sequence[str], pause: Pause) -> NDArray[np.float64]:
        """PreScore and Score: by position the mean of the plugins' scores, 0 to 100; 0 for nodes that nobody knows."""
        slots = self._slots(names)
        known = slots >= 0
        if not cycle.prepared:
            self._prepare(chosen, cycle, slots)
        means = np.zeros(len(names))
        scores = self.panel.score(chosen, cycle.state, cycle.pod, slots[known], pause)
        weights = sum(score.weight for score in scores)
        for score in scores:
            means[known] += score.normalized * (score.weight / weights)
        return means

    def _prepare(self, chosen: Chosen, cycle: PodCycle, slots: Slots) -> PreFiltered:
        cycle.prepared = True
        return self.panel.pre_filter([plugin for plugin, _ in chosen], cycle.state, cycle.pod, slots[slots >= 0])

    def _slots(self, names: Sequence[str]) -> Slots:
        """By position; -1 for nodes that are not in the cluster. One request looks the same names up more than once."""
        nodes = self.cluster.nodes
        asked, membership, slots = self._looked_up
        if asked is not names or membership != nodes.membership:
            slots = np.fromiter(map(nodes.slot_of.get, names, repeat(-1)), dtype=np.intp, count=len(names))
            self._looked_up = (names, nodes.membership, slots)
        return slots
