"""TaintToleration: rejects nodes with taints that the pod does not tolerate, and prefers nodes without soft taints.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.tolerations import PREFER_NO_SCHEDULE, find_untolerated, tolerated
from stowplan.plugins.base import InTreePlugin

NAME = "TaintToleration"
UNTOLERATED = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)", plugin=NAME)


class TaintSets:
    """For each distinct set of taints in the cluster: whether a template tolerates it, and its count of untolerated
    soft taints."""

    __slots__ = (
        "_generation",
        "_soft_tolerations",
        "_tolerations",
        "any_counts",
        "any_untolerated",
        "counts",
        "untolerated",
    )

    def __init__(self, template: fwk.PodTemplate) -> None:
        self._tolerations = template.spec.tolerations
        self._soft_tolerations = [t for t in self._tolerations if t.effect in ("", PREFER_NO_SCHEDULE)]
        self._generation = 0
        self.untolerated: list[bool] = []
        self.counts: list[int] = []
        self.any_untolerated = self.any_counts = False

    def extend(self, taint_sets: list[tuple[api.Taint, ...]], generation: int) -> TaintSets:
        """Adds the sets that are new. Another generation means that all have other numbers."""
        if self._generation != generation:
            self._generation = generation
            self.untolerated, self.counts = [], []
        if len(self.untolerated) < len(taint_sets):
            for taints in taint_sets[len(self.untolerated) :]:
                self.untolerated.append(find_untolerated(taints, self._tolerations) is not None)
                soft = (taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE)
                self.counts.append(sum(not tolerated(taint, self._soft_tolerations) for taint in soft))
            self.any_untolerated, self.any_counts = any(self.untolerated), any(self.counts)
        return self


class TaintToleration(InTreePlugin):
    """Filters by NoSchedule and NoExecute, scores by PreferNoSchedule."""

    name = NAME
    scope = "node"
    template_only = True
    normalize = "default-reverse"

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return template.spec.tolerations

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        return UNTOLERATED if self._taint_sets(pod.template).untolerated[int(self.nodes.taint_set[node.slot])] else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        sets = self._taint_sets(pod.template)
        if sets.any_untolerated:
            yield np.array(sets.untolerated)[nodes.read(self.nodes.taint_set)], UNTOLERATED

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
        tolerations = pod.spec.tolerations
        for taint in node.taints:
            if taint.effect != PREFER_NO_SCHEDULE and not tolerated(taint, tolerations):
                yield untolerated(taint, len(tolerations))

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement:
        taints = [taint_text(taint) for taint in node.taints]
        return fwk.Requirement("tolerates all taints", ", ".join(taints) or "no taints")

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeTaint, self._after_node_event),
            fwk.on(fwk.EventResource.Pod, fwk.Action.UpdatePodToleration, self._after_toleration_event),
        )

    def _taint_sets(self, template: fwk.PodTemplate) -> TaintSets:
        return template.derive(self, TaintSets).extend(self.nodes.taint_sets, self.nodes.taint_generation)

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


_LIFECYCLE_PREFIX = "node.kubernetes.io/"
_LIFECYCLE_TAINTS = {
    "node.kubernetes.io/not-ready": "is not ready",
    "node.kubernetes.io/unreachable": "is unreachable",
    "node.kubernetes.io/memory-pressure": "has memory pressure",
    "node.kubernetes.io/disk-pressure": "has disk pressure",
    "node.kubernetes.io/pid-pressure": "has too many processes",
    "node.kubernetes.io/network-unavailable": "has no network",
    "node.kubernetes.io/unschedulable": "is cordoned",
    "node.kubernetes.io/out-of-service": "is out of service",
    "node.cloudprovider.kubernetes.io/uninitialized": "is not initialised by its cloud provider yet",
    "node.cloudprovider.kubernetes.io/shutdown": "is shut down",
}
"""Taints that the control plane adds and removes with the state of a node."""


def taint_text(taint: api.Taint) -> str:
    """As kubectl writes it: `key=value:effect`."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def untolerated(taint: api.Taint, tolerations: int) -> fwk.Refusal:
    """The refusal of a node because of one taint; `tolerations` is the number that the pod has."""
    text = taint_text(taint)
    facts = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    if taint.key in _LIFECYCLE_TAINTS or taint.key.startswith(_LIFECYCLE_PREFIX):
        state = _LIFECYCLE_TAINTS.get(taint.key, f"has the taint {text}")
        return fwk.Refusal(
            id="taint.lifecycle", text=state, wanted="tolerates all taints", there=text, rule="ready", facts=facts
        )
    value = {"key": taint.key, "effect": taint.effect} | (
        {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    )
    path, item = ("/spec/tolerations/-", value) if tolerations else ("/spec/tolerations", [value])
    change = fwk.Change(
        kind="toleration",
        on="pod",
        text=f"tolerate {text}",
        effort=2,
        patch=(fwk.PatchOperation("add", path, item),),
    )
    return fwk.Refusal(
        id="taint.untolerated",
        text=f"has the taint {text}, which the pod does not tolerate",
        wanted="tolerates all taints",
        there=text,
        rule="taints tolerated",
        lasting=True,
        facts=facts,
        changes=(change,),
    )
