"""TaintToleration: taints that the pod does not tolerate keep it off a node, or make the node less attractive."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from stowplan import api
from stowplan.api.tolerations import PREFER_NO_SCHEDULE, find_untolerated, tolerated
from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Mask,
    NodeInfo,
    Nodes,
    Pod,
    PodTemplate,
    QueueingHint,
    Scores,
    Status,
    no_scores,
    on,
)
from stowplan.plugins.base import InTreePlugin

NAME = "TaintToleration"
UNTOLERATED = Status(Code.UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)", plugin=NAME)


class Tables:
    """What a pod's tolerations mean for every distinct set of taints that nodes have."""

    __slots__ = ("_preferring", "_tolerations", "any_counts", "any_repelled", "counts", "repelled")

    def __init__(self, template: PodTemplate) -> None:
        self._tolerations = template.spec.tolerations
        self._preferring = [t for t in self._tolerations if t.effect in ("", PREFER_NO_SCHEDULE)]
        self.repelled: list[bool] = []
        self.counts: list[int] = []
        self.any_repelled = self.any_counts = False

    def extend(self, taint_sets: list[tuple[api.Taint, ...]]) -> Tables:
        if len(self.repelled) < len(taint_sets):
            for taints in taint_sets[len(self.repelled) :]:
                self.repelled.append(find_untolerated(taints, self._tolerations) is not None)
                soft = (taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE)
                self.counts.append(sum(not tolerated(taint, self._preferring) for taint in soft))
            self.any_repelled, self.any_counts = any(self.repelled), any(self.counts)
        return self


class TaintToleration(InTreePlugin):
    """Filters on NoSchedule and NoExecute, scores on PreferNoSchedule."""

    name = NAME
    scope = "node"
    template_only = True
    normalize = "default-reverse"

    def signature(self, template: PodTemplate) -> Hashable:
        return template.spec.tolerations

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return UNTOLERATED if self._tables(pod.template).repelled[int(self.nodes.taint_set[node.slot])] else None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        tables = self._tables(pod.template)
        if tables.any_repelled:
            yield np.array(tables.repelled)[nodes.read(self.nodes.taint_set)], UNTOLERATED

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return self._tables(pod.template).counts[int(self.nodes.taint_set[node.slot])]

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        tables = self._tables(pod.template)
        if not tables.any_counts:
            return no_scores(len(nodes))
        counts: Scores = np.array(tables.counts, dtype=np.int64)[nodes.read(self.nodes.taint_set)]
        return counts

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (
            on(EventResource.Node, Action.Add | Action.UpdateNodeTaint, self._after_node_event),
            on(EventResource.Pod, Action.UpdatePodToleration, self._after_toleration_event),
        )

    def _tables(self, template: PodTemplate) -> Tables:
        return template.derive(self, Tables).extend(self.nodes.taint_sets)

    def _after_node_event(self, pod: Pod, old: api.Node | None, new: api.Node | None) -> QueueingHint:
        """A node helps if it is tolerated now and, where it was known before, was not."""
        now = new is not None and self._tolerates(pod, new)
        before = old is not None and self._tolerates(pod, old)
        return QueueingHint.Queue if now and not before else QueueingHint.QueueSkip

    def _after_toleration_event(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        """Only the pod's own tolerations matter to it."""
        own = new is not None and new.uid == pod.uid
        return QueueingHint.Queue if own else QueueingHint.QueueSkip

    @staticmethod
    def _tolerates(pod: Pod, node: api.Node) -> bool:
        return find_untolerated(node.spec.taints, pod.spec.tolerations) is None
