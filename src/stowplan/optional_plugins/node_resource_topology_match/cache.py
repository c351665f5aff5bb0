"""The topology of nodes between two reports of their agents.

A report lags behind the pods that this scheduler places. Upstream fetches reports of some nodes periodically; here
every report is watched, so a node is up to date as soon as its agent has reported.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/cache
"""

from __future__ import annotations

from typing import NamedTuple

from stowplan import api
from stowplan.cache import Cluster
from stowplan.cache.nodes import NodeTable
from stowplan.config.args.optional import NodeResourceTopologyMatchArgs
from stowplan.framework import NodeInfo, Pod
from stowplan.optional_plugins.base.requests import Amounts, add, effective_request
from stowplan.optional_plugins.node_resource_topology_match.alignment import exclusive_resources
from stowplan.optional_plugins.node_resource_topology_match.fingerprint import fingerprint
from stowplan.optional_plugins.node_resource_topology_match.topology import NodeTopology, parse_topology

_EXCLUSIVE_METHOD = "with-exclusive-resources"


class TopologyView(NamedTuple):
    """The topology to decide by; None for a node without any."""

    topology: NodeTopology | None
    is_fresh: bool = True


class NodeReservations:
    """What is known of a node since the report that is in use."""

    __slots__ = ("bound_since", "checked_foreign", "in_use", "reserved")

    def __init__(self) -> None:
        self.reserved: dict[str, Pod] = {}
        """Pods placed by this scheduler that the report may not include, by uid."""
        self.bound_since: dict[str, api.NodeResourceTopology | None] = {}
        """The report that was known when the pod was bound, by uid."""
        self.in_use: api.NodeResourceTopology | None = None
        self.checked_foreign: frozenset[str] = frozenset()
        """Pods of other schedulers that the report in use includes."""


class TopologyCache:
    """Passes reports on as they are; the other caches extend it."""

    def __init__(self, cluster: Cluster, args: NodeResourceTopologyMatchArgs, profile: str) -> None:
        self._args = args
        self._nodes = cluster.nodes
        self._journal = cluster.journal
        """Active during a what-if, in which the pods are not those that a report includes."""
        self._store = cluster.stores.of(api.NodeResourceTopology)
        shared = cluster.nodes.derive(_SharedState)
        shared.listen(cluster)
        shared.profiles.add(profile)
        self._profiles = shared.profiles
        self._states = shared.states
        self._parsed = shared.parsed

    def view(self, node: NodeInfo) -> TopologyView:
        return TopologyView(self._topology(self._store.get(node.name)))

    def reserve(self, pod: Pod, node_name: str) -> None:
        """The pod was placed on the node."""

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """The pod was not placed after all."""

    def bound(self, pod: Pod, node_name: str) -> None:
        """The pod was bound to the node."""

    def _topology(self, item: api.NodeResourceTopology | None) -> NodeTopology | None:
        if item is None:
            return None
        known = self._parsed.get(item.metadata.name)
        if known is None or known[0] is not item:
            known = self._parsed[item.metadata.name] = (item, parse_topology(item))
        return known[1]

    def _state(self, node_name: str) -> NodeReservations:
        return self._states.setdefault(node_name, NodeReservations())

    def _note_change(self, node_name: str) -> None:
        """Answers about the node are computed anew."""
        slot = self._nodes.slot_of.get(node_name)
        if slot is not None:
            self._nodes.log.append(slot)


class DiscardReservedCache(TopologyCache):
    """A node is not fresh while a pod is reserved there and not bound yet."""

    def view(self, node: NodeInfo) -> TopologyView:
        state = self._states.get(node.name)
        return super().view(node)._replace(is_fresh=state is None or not state.reserved)

    def reserve(self, pod: Pod, node_name: str) -> None:
        self._state(node_name).reserved[pod.uid] = pod
        self._note_change(node_name)

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self._state(node_name).reserved.pop(pod.uid, None)
        self._note_change(node_name)

    bound = unreserve


class OverReserveCache(TopologyCache):
    """Takes the requests of placed pods from every zone, until a report includes them.

    A report includes the node's pods if its fingerprint is theirs. Without a fingerprint, a report counts for pods that
    were bound before it came. Pods of other schedulers make a node not fresh until a report includes them.
    """

    def view(self, node: NodeInfo) -> TopologyView:
        latest = self._store.get(node.name)
        state = self._states.get(node.name)
        foreign = self._foreign(node, latest)
        if state is None and not foreign:
            return TopologyView(self._topology(latest))
        state = state or self._state(node.name)
        if not self._journal.active:
            self._take_over(state, node, latest, foreign)
        topology = self._topology(state.in_use)
        if topology is not None and state.reserved:
            used: Amounts = {}
            for pod in state.reserved.values():
                add(used, effective_request(pod.template))
            topology = topology.less(used)
        return TopologyView(topology, foreign <= state.checked_foreign)

    def _take_over(
        self, state: NodeReservations, node: NodeInfo, latest: api.NodeResourceTopology | None, foreign: frozenset[str]
    ) -> None:
        """Use the latest report if it includes the node's pods, or if its settings changed."""
        state.reserved = {uid: pod for uid, pod in state.reserved.items() if uid in node.pods}
        topology, former = self._topology(latest), state.in_use
        if topology is None or latest is None:
            state.in_use = latest
            return
        if topology.fingerprint:
            if self._includes_pods(topology, node):
                state.in_use, state.checked_foreign = latest, foreign
                state.reserved.clear()
                state.bound_since.clear()
        else:
            for uid, known in list(state.bound_since.items()):
                if known is not latest:
                    del state.bound_since[uid]
                    state.reserved.pop(uid, None)
            state.in_use, state.checked_foreign = latest, foreign
        has_new_settings = former is not None and self._settings_changed(former, latest)
        if state.in_use is None or not state.reserved or has_new_settings:
            state.in_use = latest

    def _settings_changed(self, former: api.NodeResourceTopology, latest: api.NodeResourceTopology) -> bool:
        if self._args.cache.resync_scope != "All":
            return False
        keys = ("topologyManagerScope", "topologyManagerPolicy", "topologyManagerMaxNUMANodes")
        settings = [
            (item.topology_policies, [(each.name, each.value) for each in item.attributes if each.name in keys])
            for item in (former, latest)
        ]
        return settings[0] != settings[1]

    def _includes_pods(self, topology: NodeTopology, node: NodeInfo) -> bool:
        method = self._args.cache.resync_method
        exclusive = method == "OnlyExclusiveResources" or (
            method == "Autodetect" and topology.fingerprint_method == _EXCLUSIVE_METHOD
        )
        pods = [
            (pod.namespace, pod.name)
            for pod in node.pods.values()
            if not exclusive or exclusive_resources(pod.template, topology.resources)
        ]
        return topology.fingerprint == fingerprint(pods)

    def _foreign(self, node: NodeInfo, latest: api.NodeResourceTopology | None) -> frozenset[str]:
        """Pods of other schedulers that may hold something in a zone."""
        detect = self._args.cache.foreign_pods_detect
        topology = None if detect == "None" else self._topology(latest)
        if topology is None:
            return frozenset()
        return frozenset(
            uid
            for uid, pod in node.pods.items()
            if pod.template.spec.scheduler_name not in self._profiles
            and (detect == "All" or exclusive_resources(pod.template, topology.resources))
        )

    def reserve(self, pod: Pod, node_name: str) -> None:
        state = self._state(node_name)
        if state.in_use is None:
            state.in_use = self._store.get(node_name)
        state.reserved[pod.uid] = pod
        self._note_change(node_name)

    def unreserve(self, pod: Pod, node_name: str) -> None:
        state = self._state(node_name)
        state.reserved.pop(pod.uid, None)
        state.bound_since.pop(pod.uid, None)
        self._note_change(node_name)

    def bound(self, pod: Pod, node_name: str) -> None:
        state = self._state(node_name)
        if pod.uid in state.reserved:
            state.bound_since[pod.uid] = self._store.get(node_name)


class _SharedState:
    """What the plugin instances of all profiles share."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.profiles: set[str] = set()
        self.states: dict[str, NodeReservations] = {}
        self.parsed: dict[str, tuple[api.NodeResourceTopology, NodeTopology]] = {}
        """The reports that were read last, by node."""
        self._listens = False

    def listen(self, cluster: Cluster) -> None:
        """Note a change of the node whenever its report changes."""
        if not self._listens:
            self._listens = True
            cluster.stores.of(api.NodeResourceTopology).listen(self._changed)

    def _changed(self, old: api.NodeResourceTopology | None, new: api.NodeResourceTopology | None) -> None:
        item = new or old
        assert item is not None
        slot = self._nodes.slot_of.get(item.metadata.name)
        if slot is not None:
            self._nodes.log.append(slot)
        if new is None:
            self.states.pop(item.metadata.name, None)
            self.parsed.pop(item.metadata.name, None)


def make_cache(cluster: Cluster, args: NodeResourceTopologyMatchArgs, profile: str) -> TopologyCache:
    """The cache that the args choose."""
    if args.discard_reserved_nodes:
        return DiscardReservedCache(cluster, args, profile)
    kind = OverReserveCache if args.cache_resync_period_seconds > 0 else TopologyCache
    return kind(cluster, args, profile)
