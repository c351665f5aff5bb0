"""The extender's plugins, instantiated for one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from stowplan.cache import Cluster
from stowplan.errors import PluginError
from stowplan.extender.handlers.group_member import GroupMember
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.request_nodes import RequestNodes
from stowplan.framework import Plugin, Pod, Slots
from stowplan.queue.nominator import Nominator
from stowplan.runtime.decide.filtering import PreFiltered
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.out_of_tree.plugin_runner import PluginRunner
from stowplan.runtime.profile.build import instantiate
from stowplan.runtime.profile.handle import ProfileHandle

WeightedPlugins = list[tuple[OutOfTreePlugin, int]]
"""Plugins that apply to a pod, with their weights."""


class ClusterPlugins:
    """The plugins and the cluster they see: which plugins apply to a pod, and the slots of named nodes."""

    def __init__(self, members: Sequence[GroupMember], cluster: Cluster) -> None:
        self.cluster = cluster
        self.request_nodes = RequestNodes(cluster)
        self._members = members
        handle = ProfileHandle("extender", cluster, Nominator())
        self.plugins: list[Plugin] = []
        for member in members:
            plugin = instantiate(member.factory, member.name, member.args, handle)
            if any(plugin.name == other.name for other in self.plugins):
                raise PluginError(f'there are two plugins named "{plugin.name}"')
            self.plugins.append(plugin)
        self.runner = PluginRunner(cluster, self.plugins)
        self._last_lookup: tuple[Sequence[str], int, Slots] = ((), 0, np.zeros(0, dtype=np.intp))

    def applying_to(self, pod: Pod) -> WeightedPlugins:
        """Plugins whose selector and `concerns` match the pod."""
        return [
            (plugin, member.weight)
            for member, plugin in zip(self._members, self.runner.plugins, strict=True)
            if member.selector.matches(pod) and plugin.concerns(pod.template)
        ]

    def slots(self, names: Sequence[str]) -> Slots:
        """Slots by position; -1 for nodes that are not in the cluster. The last lookup is cached by list identity,
        since one request looks up the same list several times."""
        nodes = self.cluster.nodes
        last_names, membership, slots = self._last_lookup
        if last_names is not names or membership != nodes.membership:
            slots = np.fromiter(map(nodes.slot_of.get, names, repeat(-1)), dtype=np.intp, count=len(names))
            self._last_lookup = (names, nodes.membership, slots)
        return slots

    def all_known_once(self, names: Sequence[str]) -> bool:
        """Whether every node is in the cluster and no name is repeated."""
        slots = self.slots(names)
        return len(slots) > 0 and slots.min() >= 0 and np.bincount(slots).max() == 1

    def pre_filter(self, plugins: WeightedPlugins, cycle: PodCycle, slots: Slots) -> PreFiltered:
        """Run PreFilter on the nodes that are in the cluster."""
        cycle.pre_filtered = True
        return self.runner.pre_filter([plugin for plugin, _ in plugins], cycle.state, cycle.pod, slots[slots >= 0])
