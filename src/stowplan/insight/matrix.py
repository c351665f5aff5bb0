"""The filter matrix: the answer of every filter about every node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import CycleState, Mask, NodeInfo, Pod, Refusal, Slots, Status
from stowplan.insight.slices import Slices, run
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.filtering import PreFiltered, absent_status, run_pre_filters
from stowplan.runtime.decide.nominated_pods import NominatedPodsFilter
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.profile.profile import Profile

_MAX_NOMINATED_NODES = 200


class Rejected(NamedTuple):
    """Nodes that a plugin rejects with one status."""

    plugin: str
    status: Status
    nodes: Mask
    """By slot."""


class FilterMatrix:
    """All filters on all nodes, without stopping at the first rejection of a node.

    Out-of-tree filters run only on nodes that no earlier filter rejects, as in a scheduling cycle.
    """

    def __init__(self, profile: Profile, pod: Pod, *, filled: bool = True, within: Slots | None = None) -> None:
        """`filled` is False for a matrix that `fill` completes in slices. With `within`, other nodes are left out."""
        self.profile = profile
        self.pod = pod
        self.state = CycleState()
        self.table = profile.cluster.nodes
        self.high = self.table.high
        """Slots that the matrix covers; nodes that join later are left out."""
        self.alive: Mask = self.table.alive[: self.high].copy()
        if within is not None:
            self.alive[np.setdiff1d(np.arange(self.high), within)] = False
        self.rejected: list[Rejected] = []
        self.rivals: Mask = np.zeros(self.high, dtype=np.bool_)
        """Nodes that are rejected only because of pods nominated to them."""
        self.beside_nominated: set[tuple[int, str]] = set()
        """(slot, plugin) of rejections that pods nominated to the node cause."""
        self.pre_filtered: PreFiltered = run_pre_filters(profile.pre_filters, self.state, pod, self.table.everything())
        self._by_plugin: dict[str, Mask] | None = None
        self._labels: dict[str, list[str | None]] = {}
        self.bounds: dict[str, NDArray[np.float64] | float] = {}
        """By plugin, for `insight.bounds`."""
        if filled:
            run(self.fill())

    def fill(self) -> Slices[None]:
        """Run the filters."""
        if self.pre_filtered.names is not None:
            self._restrict(self.pre_filtered.names)
        if self.pre_filtered.status is None:
            yield
            yield from self._run_filters()

    @property
    def pod_status(self) -> Status | None:
        """The rejection of the pod as a whole by PreFilter."""
        return self.pre_filtered.status

    def refused(self) -> Mask:
        """By slot: whether any plugin rejects the node."""
        found = np.zeros(self.high, dtype=np.bool_)
        for _, _, nodes in self.rejected:
            found |= nodes
        return found

    def feasible(self) -> Slots:
        if self.pod_status is not None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self.alive & ~self.refused())

    def by_plugin(self) -> dict[str, Mask]:
        """The nodes that each plugin rejects."""
        if self._by_plugin is None:
            found: dict[str, Mask] = {}
            for plugin, _, nodes in self.rejected:
                found[plugin] = found[plugin] | nodes if plugin in found else nodes
            self._by_plugin = found
        return self._by_plugin

    def alone(self, plugin: str) -> Mask:
        """The nodes that this plugin rejects and no other does."""
        masks = self.by_plugin()
        found: Mask = masks[plugin].copy() if plugin in masks else np.zeros(self.high, dtype=np.bool_)
        for name, nodes in masks.items():
            if name != plugin:
                found &= ~nodes
        return found

    def label_values(self, key: str) -> list[str | None]:
        """The values of a label by slot, without a column in the cache, which would stay."""
        found = self._labels.get(key)
        if found is None:
            infos = self.table.infos[: self.high]
            found = self._labels[key] = [None if info is None else info.labels.get(key) for info in infos]
        return found

    def statuses_of(self, slot: int) -> list[tuple[str, Status]]:
        """The rejections of one node."""
        return [(plugin, status) for plugin, status, nodes in self.rejected if nodes[slot]]

    def refusals_of(self, info: NodeInfo) -> list[Refusal]:
        """The rejections of one node, explained by their plugins."""
        return [
            refusal
            for name in dict.fromkeys(plugin for plugin, _, nodes in self.rejected if nodes[info.slot])
            for refusal in self.explain(name, info)
        ]

    def explain(self, name: str, info: NodeInfo) -> list[Refusal]:
        """A plugin's refusals of a node; its statuses in words where the plugin explains nothing."""
        from stowplan.insight.plugin_words import refusals

        statuses = [status for plugin, status in self.statuses_of(info.slot) if plugin == name]
        return refusals(self, name, info, statuses)

    def plugin(self, name: str) -> InTreePlugin | None:
        return next((plugin for plugin in self.profile.filters if plugin.name == name), None)

    def _restrict(self, names: frozenset[str]) -> None:
        allowed = np.zeros(self.high, dtype=np.bool_)
        allowed[[self.table.slot_of[name] for name in names if name in self.table.slot_of]] = True
        left_out = self.alive & ~allowed
        for plugin in sorted(self.pre_filtered.restricting):
            self.rejected.append(Rejected(plugin, absent_status([plugin]), left_out))

    def _run_filters(self) -> Slices[None]:
        open_ = self.alive & ~self.refused()
        for plugin in self.profile.filters:
            if plugin.name in self.state.skip_filter:
                continue
            everything = self.table.everything()
            nodes = self.table.subset(np.flatnonzero(open_)) if isinstance(plugin, OutOfTreePlugin) else everything
            for mask, status in plugin.filter_nodes(self.state, self.pod, nodes):
                rejected = np.zeros(self.high, dtype=np.bool_)
                rejected[nodes.slots_at(np.flatnonzero(mask))] = True
                rejected &= self.alive
                if rejected.any():
                    self.rejected.append(Rejected(plugin.name, status.with_plugin(plugin.name), rejected))
                    open_ &= ~rejected
            yield
        yield from self._add_nominated_pods(open_)

    def _add_nominated_pods(self, open_: Mask) -> Slices[None]:
        """Rejections of nodes with the pods nominated to them, by plugins that do not reject the nodes without them. Of
        very many nodes, only those that pass without the nominated pods."""
        if not self.profile.nominator.by_node:
            return
        nominated = NominatedPodsFilter(self.profile, self.state, self.pod, remember=False)
        infos = nominated.infos()
        for info in infos:
            slot = info.slot
            if self.alive[slot] and (open_[slot] or len(infos) <= _MAX_NOMINATED_NODES):
                has_rivals, status = nominated.filter(info)
                known = [plugin for plugin, _, nodes in self.rejected if nodes[slot]]
                if has_rivals and status is not None and status.plugin not in known:
                    only = np.zeros(self.high, dtype=np.bool_)
                    only[slot] = True
                    self.rivals[slot] = not known
                    self.beside_nominated.add((slot, status.plugin))
                    self.rejected.append(Rejected(status.plugin, status, only))
                yield
