"""TaintToleration: rejects nodes with taints that the pod does not tolerate, and prefers nodes without soft taints.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.tolerations import PREFER_NO_SCHEDULE, find_untolerated, tolerated
from stowplan.config.releases import Rules
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.taint_toleration.explanation import explain_taints, taint_text, taints_in_words

NAME = "TaintToleration"
_MAX_STATUSES = 1024


@lru_cache(maxsize=_MAX_STATUSES)
def _status(reason: str) -> fwk.Status:
    return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, reason, plugin=NAME)


@lru_cache(maxsize=_MAX_STATUSES)
def _untolerated(reason: str, key: str, value: str) -> fwk.Status:
    """The status for the first untolerated taint; the same object for equal texts."""
    return _status(reason.format(key=key, value=value))


UNTOLERATED = _status(Rules.untolerated_taint)
"""The status since v1.34; before, the reason names the taint."""


class TaintSets:
    """For each distinct set of taints in the cluster: the status if a template does not tolerate it, and its count of
    untolerated soft taints. `reason` is the format of the status, with the first untolerated taint."""

    __slots__ = (
        "_generation",
        "_reason",
        "_soft_tolerations",
        "_tolerations",
        "any_counts",
        "counts",
        "distinct",
        "statuses",
    )

    def __init__(self, template: fwk.PodTemplate, reason: str) -> None:
        self._reason = reason
        self._tolerations = template.spec.tolerations
        self._soft_tolerations = [t for t in self._tolerations if t.effect in ("", PREFER_NO_SCHEDULE)]
        self._generation = 0
        self.statuses: list[fwk.Status | None] = []
        self.distinct: list[fwk.Status] = []
        """The statuses that occur."""
        self.counts: list[int] = []
        self.any_counts = False

    def extend(self, taint_sets: list[tuple[api.Taint, ...]], generation: int) -> TaintSets:
        """Adds the sets that are new. Another generation means that all have other numbers."""
        if self._generation != generation:
            self._generation = generation
            self.statuses, self.distinct, self.counts, self.any_counts = [], [], [], False
        if len(self.statuses) < len(taint_sets):
            for taints in taint_sets[len(self.statuses) :]:
                self._add(taints)
        return self

    def _add(self, taints: tuple[api.Taint, ...]) -> None:
        first = find_untolerated(taints, self._tolerations)
        status = None if first is None else _untolerated(self._reason, first.key, first.value)
        if status is not None and status not in self.distinct:
            self.distinct.append(status)
        count = 0
        for taint in taints:
            if taint.effect == PREFER_NO_SCHEDULE and not tolerated(taint, self._soft_tolerations):
                count += 1
        self.statuses.append(status)
        self.counts.append(count)
        self.any_counts |= count > 0


class TaintToleration(InTreePlugin):
    """Filters by NoSchedule and NoExecute, scores by PreferNoSchedule."""

    name = NAME
    scope = "node"
    template_only = True
    normalize = "default-reverse"

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return template.spec.tolerations

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        return self._taint_sets(pod.template).statuses[int(self.nodes.taint_set[node.slot])]

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        sets = self._taint_sets(pod.template)
        for status in sets.distinct:
            rejected = np.array([each is status for each in sets.statuses])
            yield rejected[nodes.read(self.nodes.taint_set)], status

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> None:
        return None

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return self._taint_sets(pod.template).counts[int(self.nodes.taint_set[node.slot])]

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        sets = self._taint_sets(pod.template)
        if not sets.any_counts:
            return fwk.no_scores(len(nodes))
        counts: fwk.Scores = np.array(sets.counts, dtype=np.int64)[nodes.read(self.nodes.taint_set)]
        return counts

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        return explain_taints(pod, node)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement:
        return taints_in_words(node)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        soft = [each for each in node.taints if each.effect == PREFER_NO_SCHEDULE]
        avoided = [taint_text(each) for each in soft if not tolerated(each, pod.spec.tolerations)]
        return f"to be avoided: {', '.join(avoided)}" if avoided else "no taint to avoid"

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeTaint, self._after_node_event),
            fwk.on(fwk.EventResource.Pod, fwk.Action.UpdatePodToleration, self._after_toleration_event),
        )

    def _taint_sets(self, template: fwk.PodTemplate) -> TaintSets:
        return template.derive(self, self._make_taint_sets).extend(self.nodes.taint_sets, self.nodes.taint_generation)

    def _make_taint_sets(self, template: fwk.PodTemplate) -> TaintSets:
        return TaintSets(template, self.cluster.release.rules.untolerated_taint)

    def _after_node_event(self, pod: fwk.Pod, old: api.Node | None, new: api.Node | None) -> fwk.QueueingHint:
        """Queue if the pod tolerates the node now and did not before."""
        now = new is not None and self._tolerates(pod, new)
        before = old is not None and self._tolerates(pod, old)
        return fwk.QueueingHint.Queue if now and not before else fwk.QueueingHint.QueueSkip

    def _after_toleration_event(self, pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
        """Queue if the pod itself got tolerations."""
        own = new is not None and new.uid == pod.uid
        return fwk.QueueingHint.Queue if own else fwk.QueueingHint.QueueSkip

    @staticmethod
    def _tolerates(pod: fwk.Pod, node: api.Node) -> bool:
        return find_untolerated(node.spec.taints, pod.spec.tolerations) is None
