"""What the verbs share: plugins, clusters, what earlier requests left, and the rules of the house."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress

import numpy as np

from stowplan import api
from stowplan.cache import Cluster
from stowplan.errors import StowplanError
from stowplan.extender.handlers.cluster_plugins import ClusterPlugins
from stowplan.extender.handlers.exclusive import Exclusive
from stowplan.extender.handlers.plugin_requirements import check, verbs_of
from stowplan.extender.handlers.pod_cycles import EarlierAnswers, PodCycle, PodCycles
from stowplan.extender.handlers.policy import GroupMember, OperatorPolicy
from stowplan.extender.handlers.ports import ClusterCache, ReservationPort
from stowplan.extender.handlers.reply import VERBS, Verb
from stowplan.extender.handlers.verb_call import NodeQuestion, VerbCall
from stowplan.extender.wire.node_lists import Known, RawNode
from stowplan.extender.wire.server_replies import PriorityLines, write_bind_result
from stowplan.framework import Pod, Slots

_MOST_SEEN = 4
"""Nodes of earlier requests that are remembered for each of the present one."""


class NoCacheError(StowplanError):
    """A request names nodes or pods of which nothing else is known."""


class HandlerState:
    """Held by all four verbs. What touches `jury` happens inside of `gate`."""

    def __init__(
        self,
        members: Sequence[GroupMember],
        policy: OperatorPolicy,
        mirror: ClusterCache | None,
        holding: ReservationPort | None,
        clock: Callable[[], float],
    ) -> None:
        self.policy = policy
        self.mirror = mirror
        self.holding = holding
        self.clock = clock
        self.gate = Exclusive(clock)
        self.cycles = PodCycles()
        self.answers = {verb: EarlierAnswers() for verb, how in policy.on_failure.items() if how == "cached"}
        """By verb, where the failure policy wants the last answer given again."""
        self.lines = PriorityLines(lower_case=policy.lower_case)
        self._members = members
        self._keep_objects = any(getattr(member.factory, "needs_objects", False) for member in members)
        cluster = Cluster(keep_objects=self._keep_objects) if mirror is None else mirror.cluster
        self.jury = ClusterPlugins(members, cluster)
        self._dry_jury: ClusterPlugins | None = None
        self._seen: dict[bytes, RawNode] = {}
        """Nodes that came in full although there is a cache."""
        self.warnings = check(self.jury.plugins, has_mirror=mirror is not None)
        served: set[Verb] = {"bind"} if holding is not None else set()
        self.serves = frozenset(served.union(*map(verbs_of, self.jury.plugins))) & frozenset(VERBS)

    @property
    def known(self) -> Known:
        """Nodes that need not be read again where they come in the same bytes."""
        return self.jury.shelf.known if self.mirror is None else self._seen

    def pod(self, source: api.Pod, data: bytes) -> Pod:
        cluster = self.jury.cluster
        return cluster.pod(source, data if cluster.keep_objects else None)

    def problem(self, text: str) -> bytes:
        """The body of an answer whose status says that something is wrong."""
        return write_bind_result(text, lower_case=self.policy.lower_case)

    def admit(self, call: VerbCall, question: NodeQuestion) -> Iterator[tuple[ClusterPlugins, Slots | None]]:
        """Who judges which of the nodes, by position; None stands for all. Nodes are taken in along the way.

        Nodes in full that the cache does not know are not of this cluster, such as those that an autoscaler thinks of
        adding: others of the same plugins judge them, and nothing is kept of it.
        """
        jury = self.jury
        if not jury.sure_of(question.names):
            question.drop_repeats()
        nodes = question.raw_nodes
        if self.mirror is None:
            if nodes is not None:
                jury.shelf.take(nodes, question.request.fresh, self.clock())
            elif self.policy.bare_names:
                jury.shelf.take_names(question.names, self.clock())
            else:
                raise NoCacheError(
                    "the request names nodes, and there is no cache to look them up in: give the extender access to "
                    "the cluster, or set nodeCacheCapable: false"
                )
            yield jury, None
            return
        if not self.mirror.synced:
            raise NoCacheError("the cache of nodes and pods is not filled yet")
        if nodes is None:
            yield jury, None
            return
        self._remember(question.request.fresh, len(nodes))
        known = jury.knows(question.names)
        if known.all():
            yield jury, None
            return
        call.facts.dry_run = True
        if known.any():
            yield jury, np.flatnonzero(known)
        yield self._for_strangers(list(compress(nodes, ~known))), np.flatnonzero(~known)

    def _for_strangers(self, nodes: list[RawNode]) -> ClusterPlugins:
        if self._dry_jury is None:
            self._dry_jury = ClusterPlugins(self._members, Cluster(keep_objects=self._keep_objects))
        self._dry_jury.shelf.take(nodes, nodes, self.clock())
        return self._dry_jury

    def _remember(self, fresh: Sequence[RawNode], count: int) -> None:
        if len(self._seen) > _MOST_SEEN * count:
            self._seen.clear()
        for node in fresh:
            node.forget_parsed()
            self._seen[node.name.encode()] = node

    def cycle(
        self, call: VerbCall, jury: ClusterPlugins, pod: Pod, source: api.Pod, data: bytes, *, anew: bool
    ) -> PodCycle:
        """The pod's cycle; one that nobody will hear of where the nodes are not of this cluster."""
        now = self.clock()
        if jury is not self.jury:
            pod = jury.cluster.pod(source, data if jury.cluster.keep_objects else None)
        if call.facts.dry_run:
            return PodCycle(pod, now)
        found = None if anew else self.cycles.find(pod.uid, pod.key, now)
        if found is None:
            found = self.cycles.begin(pod, now)
            if anew and self.holding is not None:
                self.holding.restart(pod)
        found.pod = pod
        return found
