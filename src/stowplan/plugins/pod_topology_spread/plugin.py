"""PodTopologySpread: spread matching pods evenly over the domains of topology keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from stowplan.api import Node
from stowplan.api.selectors import SelectorError
from stowplan.config.args import PodTopologySpreadArgs
from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    Mask,
    NodeInfo,
    Nodes,
    Pod,
    PodTemplate,
    QueueingHint,
    Scores,
    Status,
    error,
    on,
)
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.pod_topology_spread import hints
from stowplan.plugins.pod_topology_spread.constraints import ConstraintSource
from stowplan.plugins.pod_topology_spread.eligibility import Eligibilities
from stowplan.plugins.pod_topology_spread.filtering import SpreadFilter
from stowplan.plugins.pod_topology_spread.scoring import SpreadScorer, Weighing, normalized

_SKIP = Status(Code.Skip)
_FILTER = "PreFilterPodTopologySpread"
_SCORE = "PreScorePodTopologySpread"
_PREFILTER_ERROR = "get constraints from pod: obtaining pod's hard topology spread constraints: {}"
_PRESCORE_ERROR = "calculating preScoreState: obtaining pod's soft topology spread constraints: {}"


class PodTopologySpread(InTreePlugin):
    """Filters by constraints that must hold, scores by those that should."""

    name = "PodTopologySpread"
    reads = ("Service", "ReplicaSet", "ReplicationController", "StatefulSet")
    scope = "cluster"
    Args = PodTopologySpreadArgs

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._source = ConstraintSource(args, self.cluster)
        self._eligibilities = Eligibilities(self.nodes)

    def concerns(self, template: PodTemplate) -> bool:
        return self._source.concerns(template)

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        pod_actions = Action.Add | Action.UpdatePodLabel | Action.UpdatePodToleration | Action.Delete
        node_actions = Action.Add | Action.Delete | Action.UpdateNodeLabel | Action.UpdateNodeTaint
        return (
            on(EventResource.Pod, pod_actions, self._after_pod_change),
            on(EventResource.Node, node_actions, self._after_node_change),
        )

    def idle_filter(self, pod: Pod) -> bool:
        try:
            return not self._source.hard(pod.template)
        except SelectorError:
            return False

    def idle_score(self, pod: Pod) -> bool:
        try:
            return not self._source.soft(pod.template)
        except SelectorError:
            return False

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        try:
            rules = self._filter_rules(pod.template)
        except SelectorError as problem:
            return error(_PREFILTER_ERROR.format(problem))
        if rules is None:
            return _SKIP
        rules.refresh()
        state.write(_FILTER, rules)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        rules: SpreadFilter = state.read(_FILTER)
        return rules.judge(node.slot)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterable[tuple[Mask, Status]]:
        rules: SpreadFilter = state.read(_FILTER)
        return rules.judge_nodes(nodes)

    def passing_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Mask:
        rules: SpreadFilter = state.read(_FILTER)
        return rules.passing(nodes)

    def filter_token(self, pod: Pod) -> Hashable | None:
        try:
            rules = self._filter_rules(pod.template)
        except SelectorError:
            return None
        return () if rules is None else rules.token()

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        try:
            rules = self._score_rules(pod.template)
        except SelectorError as problem:
            return error(_PRESCORE_ERROR.format(problem))
        if rules is None:
            return _SKIP
        rules.refresh()
        state.write(_SCORE, (rules, rules.weigh(nodes)))
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        rules, weighing = self._scoring(state)
        return rules.score(node.slot, weighing)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        rules, weighing = self._scoring(state)
        return rules.score_nodes(nodes, weighing)

    def normalize_score(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> None:
        rules, _ = self._scoring(state)
        judged = {name for name in scores if not rules.ignores(self.nodes.slot_of[name])}
        least = min((scores[name] for name in judged), default=0)
        greatest = max((scores[name] for name in judged), default=0)
        for name, value in scores.items():
            scores[name] = normalized(value, least, greatest) if name in judged else 0

    def normalize_nodes(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        rules, weighing = self._scoring(state)
        return rules.normalize_nodes(scores, nodes, weighing)

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        try:
            helps = hints.pod_change_helps(pod, self._source.hard(pod.template), old, new)
        except SelectorError:
            helps = True
        return QueueingHint.Queue if helps else QueueingHint.QueueSkip

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
        try:
            helps = hints.node_change_helps(self._source.hard(pod.template), old, new)
        except SelectorError:
            helps = True
        return QueueingHint.Queue if helps else QueueingHint.QueueSkip

    def _filter_rules(self, template: PodTemplate) -> SpreadFilter | None:
        constraints = self._source.hard(template)
        if not constraints:
            return None
        key = (SpreadFilter, self)
        known: SpreadFilter | None = template.derived.get(key)
        if known is None or known.constraints is not constraints:
            known = template.derived[key] = SpreadFilter(self.cluster, template, constraints, self._eligibilities)
        return known

    def _score_rules(self, template: PodTemplate) -> SpreadScorer | None:
        constraints = self._source.soft(template)
        if not constraints:
            return None
        key = (SpreadScorer, self)
        known: SpreadScorer | None = template.derived.get(key)
        if known is None or known.constraints is not constraints:
            all_keys = self._source.requires_all_keys(template)
            known = SpreadScorer(self.cluster, template, constraints, all_keys, self._eligibilities)
            template.derived[key] = known
        return known

    @staticmethod
    def _scoring(state: CycleState) -> tuple[SpreadScorer, Weighing]:
        found: tuple[SpreadScorer, Weighing] = state.read(_SCORE)
        return found
