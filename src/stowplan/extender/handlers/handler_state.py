"""State shared by the four verb handlers: plugins, informer cache, per-pod cycles, earlier answers, policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Protocol

import numpy as np

from stowplan import logs
from stowplan.cache import Cluster
from stowplan.errors import StowplanError
from stowplan.extender.handlers.cluster_plugins import ClusterPlugins
from stowplan.extender.handlers.exclusive import Exclusive
from stowplan.extender.handlers.group_member import GroupMember
from stowplan.extender.handlers.plugin_requirements import check, verbs_of
from stowplan.extender.handlers.pod_cycles import EarlierAnswers, PassedNodes, PodCycle, PodCycles
from stowplan.extender.handlers.verb_call import Verb, VerbCall
from stowplan.extender.policy import FailurePolicy, OperatorPolicy
from stowplan.extender.wire.node_lists import Known, RawNode
from stowplan.extender.wire.server_replies import PriorityLines, write_bind_result
from stowplan.extender.wire.server_requests import FilterRequest, PreemptRequest
from stowplan.framework import Pod, Slots, Status
from stowplan.framework.plugin import need_objects

log = logs.get(__name__)

_MAX_REMEMBERED_PER_REQUESTED_NODE = 4
"""Nodes of earlier requests that are kept for each node of the current request."""

_WHOLE_NODES_WITH_CACHE = (
    "the request has whole nodes, although this extender watches the cluster: set nodeCacheCapable: true in "
    "kube-scheduler's configuration, which makes requests smaller and faster"
)


class NoCacheError(StowplanError):
    """A request names nodes or pods without their objects, and no informer cache knows them."""


class NamesWithoutCacheError(NoCacheError):
    """kube-scheduler's configuration does not match an extender without an informer cache. Logged once."""

    def __init__(self, sent: str) -> None:
        super().__init__(
            f"the request has {sent} only, and this extender has no access to the cluster: set nodeCacheCapable: false "
            "in kube-scheduler's configuration, or start the extender with --kubeconfig or --in-cluster"
        )


class ClusterCache(Protocol):
    """A cache of nodes and pods, filled by list and watch.

    `cluster` is changed only through `Handlers.apply`, since plugins read it on other threads.
    """

    @property
    def cluster(self) -> Cluster: ...

    @property
    def has_synced(self) -> bool:
        """Whether all nodes and pods have been listed."""

    def pending_pod(self, uid: str) -> Pod | None:
        """A pod without a node."""


class ReservationPort(Protocol):
    """Reservations by pod uid, and the write of the Binding that ends them."""

    def restart(self, pod: Pod) -> None:
        """A new scheduling attempt: releases the pod's reservations. Called on a handler's thread."""

    async def annotate(self, pod: Pod, annotations: Mapping[str, str]) -> Status | None:
        """Set annotations of the pod; None is success. Called on the event loop."""

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        """Write the Binding; None is success, also if the pod is on that node already. Called on the event loop."""


class HandlerState:
    """Shared by all verbs. `plugins` are used only inside `exclusive`."""

    def __init__(
        self,
        members: Sequence[GroupMember],
        policy: OperatorPolicy,
        cluster_cache: ClusterCache | None,
        reservations: ReservationPort | None,
        clock: Callable[[], float],
        *,
        binds: bool = False,
    ) -> None:
        policy.validate()
        self.policy = policy
        self.cluster_cache = cluster_cache
        self.reservations = reservations
        self.clock = clock
        self.exclusive = Exclusive(clock)
        self.cycles = PodCycles()
        self.passed_nodes = PassedNodes() if binds else None
        """None if the bind verb is disabled."""
        self.earlier_answers = {
            verb: EarlierAnswers()
            for verb in FailurePolicy.__struct_fields__
            if getattr(policy.failure_policy, verb) == "cached"
        }
        """By verb, for failure policy "cached"."""
        self.priority_lines = PriorityLines(lower_case=policy.lower_case_replies)
        self._members = members
        self._keep_objects = need_objects(member.factory for member in members)
        cluster = Cluster(keep_objects=self._keep_objects) if cluster_cache is None else cluster_cache.cluster
        self.plugins = ClusterPlugins(members, cluster)
        self._dry_run_plugins: ClusterPlugins | None = None
        self._remembered_nodes: dict[bytes, RawNode] = {}
        """Nodes of requests that carry full nodes although there is an informer cache."""
        self._mismatch_logged = False
        self.warnings = check(self.plugins.plugins, has_cache=cluster_cache is not None, binds=binds)
        served: set[Verb] = {"bind"} if reservations is not None else set()
        served.update(*map(verbs_of, self.plugins.plugins))
        self.serves = frozenset(served if binds else served - {"bind"})

    @property
    def known_nodes(self) -> Known:
        """Nodes that are not parsed again if they arrive in the same bytes."""
        return self.plugins.request_nodes.known if self.cluster_cache is None else self._remembered_nodes

    def pod(self, request: FilterRequest | PreemptRequest, plugins: ClusterPlugins | None = None) -> Pod:
        """The request's pod, as the plugins' cluster represents it.

        If the bind verb is enabled, it is the pending pod of the informer cache with the same uid: bind relies on what
        the other verbs found out about the pod, and a client can send any pod under the uid of another.
        """
        cluster = (plugins or self.plugins).cluster
        if self.passed_nodes is not None and self.cluster_cache is not None and cluster is self.plugins.cluster:
            known = self.cluster_cache.pending_pod(request.pod.metadata.uid)
            if known is not None:
                return known
        return cluster.pod(request.pod, request.pod_bytes if cluster.keep_objects else None)

    def unconfirmed(self, pod: Pod) -> Pod | None:
        """The pod, if the informer cache does not have it yet; bind compares the two."""
        if self.cluster_cache is None or self.cluster_cache.pending_pod(pod.uid) is pod:
            return None
        return pod

    def error_body(self, text: str) -> bytes:
        """The body of a reply whose HTTP status reports the error."""
        return write_bind_result(text, lower_case=self.policy.lower_case_replies)

    def plugins_for(self, call: VerbCall, request: FilterRequest) -> list[tuple[ClusterPlugins, Slots | None]]:
        """Add the request's nodes to the cluster, and return which plugins judge which positions; None means all.

        Full nodes that the informer cache does not know are not part of the cluster, such as nodes that an autoscaler
        considers adding: a second set of the plugins judges them in a cluster of its own, and no result is kept.
        """
        plugins = self.plugins
        if not plugins.all_known_once(request.names):
            request.drop_repeats()
        if self.cluster_cache is None:
            self._add_nodes(request)
            return [(plugins, None)]
        if not self.cluster_cache.has_synced:
            raise NoCacheError("the cache of nodes and pods is not filled yet")
        if request.nodes is None:
            return [(plugins, None)]
        self._remember(request.fresh, len(request.nodes))
        known = plugins.slots(request.names) >= 0
        if not self._mismatch_logged and known.any():
            self.log_mismatch(_WHOLE_NODES_WITH_CACHE)
        if known.all():
            return [(plugins, None)]
        call.facts.dry_run = True
        unknown = (self._plugins_for_dry_run(list(compress(request.nodes, ~known))), np.flatnonzero(~known))
        return [(plugins, np.flatnonzero(known)), unknown] if known.any() else [unknown]

    def _add_nodes(self, request: FilterRequest) -> None:
        if request.nodes is not None:
            self.plugins.request_nodes.add(request.nodes, request.fresh, self.clock())
        elif self.policy.bare_names:
            self.plugins.request_nodes.add_names(request.names, self.clock())
        else:
            raise NamesWithoutCacheError("node names")

    def log_mismatch(self, text: str) -> None:
        """Log that kube-scheduler's `nodeCacheCapable` does not match this extender, for the first request only."""
        if not self._mismatch_logged:
            self._mismatch_logged = True
            log.warning("nodeCacheCapable does not match this extender", err=text)

    def _plugins_for_dry_run(self, nodes: list[RawNode]) -> ClusterPlugins:
        if self._dry_run_plugins is None:
            self._dry_run_plugins = ClusterPlugins(self._members, Cluster(keep_objects=self._keep_objects))
        self._dry_run_plugins.request_nodes.add(nodes, nodes, self.clock())
        return self._dry_run_plugins

    def _remember(self, fresh: Sequence[RawNode], count: int) -> None:
        if len(self._remembered_nodes) > _MAX_REMEMBERED_PER_REQUESTED_NODE * count:
            self._remembered_nodes.clear()
        for node in fresh:
            node.forget_parsed()
            self._remembered_nodes[node.name.encode()] = node

    def begin_cycle(self, call: VerbCall, pod: Pod) -> PodCycle:
        """A new scheduling attempt of the pod; its reservations are released."""
        if call.facts.dry_run:
            return PodCycle(pod, self.clock())
        if self.reservations is not None:
            self.reservations.restart(pod)
        return self.cycles.begin(pod, self.clock())

    def current_cycle(self, call: VerbCall, pod: Pod) -> PodCycle:
        """The cycle that `filter` began for the pod, else a new one."""
        now = self.clock()
        if call.facts.dry_run:
            return PodCycle(pod, now)
        cycle = self.cycles.find(pod.uid, pod.key, now) or self.cycles.begin(pod, now)
        cycle.pod = pod
        return cycle
