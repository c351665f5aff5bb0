"""PodTopologySpread: spreads matching pods evenly over topology domains.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice

from stowplan import framework as fwk
from stowplan.api import Node
from stowplan.api.selectors import SelectorError
from stowplan.config.args import PodTopologySpreadArgs
from stowplan.plugins.base import MAX_EXPLAINED_RULES, InTreePlugin
from stowplan.plugins.pod_topology_spread import explanation, hints
from stowplan.plugins.pod_topology_spread.constraints import ConstraintSource
from stowplan.plugins.pod_topology_spread.eligibility import Eligibilities
from stowplan.plugins.pod_topology_spread.filtering import SpreadFilter
from stowplan.plugins.pod_topology_spread.scoring import ConstraintWeights, SpreadScorer, normalized

_SKIP = fwk.Status(fwk.Code.Skip)
_FILTER = "PreFilterPodTopologySpread"
_SCORE = "PreScorePodTopologySpread"
_EXPLANATION = "ExplainPodTopologySpread"
_PREFILTER_ERROR = "get constraints from pod: obtaining pod's hard topology spread constraints: {}"
_PRESCORE_ERROR = "calculating preScoreState: obtaining pod's soft topology spread constraints: {}"


class PodTopologySpread(InTreePlugin):
    """Filters by hard constraints (DoNotSchedule), scores by soft ones (ScheduleAnyway)."""

    name = "PodTopologySpread"
    reads = ("Service", "ReplicaSet", "ReplicationController", "StatefulSet")
    scope = "cluster"
    reads_cache = True
    Args = PodTopologySpreadArgs

    def __init__(self, args: PodTopologySpreadArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._source = ConstraintSource(args, self.cluster)
        self._eligibilities = Eligibilities(self.nodes)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return self._source.concerns(template)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        pod_actions = fwk.Action.Add | fwk.Action.UpdatePodLabel | fwk.Action.UpdatePodToleration | fwk.Action.Delete
        node_actions = fwk.Action.Add | fwk.Action.Delete | fwk.Action.UpdateNodeLabel | fwk.Action.UpdateNodeTaint
        return (
            fwk.on(fwk.EventResource.Pod, pod_actions, self._after_pod_change),
            fwk.on(fwk.EventResource.Node, node_actions, self._after_node_change),
        )

    def idle_filter(self, pod: fwk.Pod) -> bool:
        try:
            return not self._source.hard(pod.template)
        except SelectorError:
            return False

    def idle_score(self, pod: fwk.Pod) -> bool:
        try:
            return not self._source.soft(pod.template)
        except SelectorError:
            return False

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        try:
            rules = self._filter_rules(pod.template)
        except SelectorError as problem:
            return fwk.error(_PREFILTER_ERROR.format(problem))
        if rules is None:
            return _SKIP
        rules.refresh()
        state.write(_FILTER, rules)
        return None

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        rules: SpreadFilter = state.read(_FILTER)
        return rules.check(node.slot)

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterable[tuple[fwk.Mask, fwk.Status]]:
        rules: SpreadFilter = state.read(_FILTER)
        return rules.check_nodes(nodes)

    def passing_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Mask:
        rules: SpreadFilter = state.read(_FILTER)
        return rules.passing(nodes)

    def filter_token(self, pod: fwk.Pod) -> Hashable | None:
        try:
            rules = self._filter_rules(pod.template)
        except SelectorError:
            return None
        return () if rules is None else rules.token()

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        try:
            rules = self._score_rules(pod.template)
        except SelectorError as problem:
            return fwk.error(_PRESCORE_ERROR.format(problem))
        if rules is None:
            return _SKIP
        rules.refresh()
        state.write(_SCORE, (rules, rules.weigh(nodes)))
        return None

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        rules, weighing = self._scoring(state)
        return rules.score(node.slot, weighing)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        rules, weighing = self._scoring(state)
        return rules.score_nodes(nodes, weighing)

    def normalize_score(self, state: fwk.CycleState, pod: fwk.Pod, scores: dict[str, int]) -> None:
        rules, _ = self._scoring(state)
        scored = {name for name in scores if not rules.ignores(self.nodes.slot_of[name])}
        least = min((scores[name] for name in scored), default=0)
        greatest = max((scores[name] for name in scored), default=0)
        for name, value in scores.items():
            scores[name] = normalized(value, least, greatest) if name in scored else 0

    def normalize_nodes(self, state: fwk.CycleState, pod: fwk.Pod, scores: fwk.Scores, nodes: fwk.Nodes) -> fwk.Scores:
        rules, weighing = self._scoring(state)
        return rules.normalize_nodes(scores, nodes, weighing)

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterable[fwk.Refusal]:
        rules: SpreadFilter | None = state.get(_FILTER)
        if rules is None:
            return ()
        known: explanation.SpreadExplanation | None = state.get(_EXPLANATION)
        if known is None:
            known = explanation.SpreadExplanation(self.cluster, rules, pod)
            state.write(_EXPLANATION, known)
        return islice(known.refusals(node), MAX_EXPLAINED_RULES)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        rules: SpreadFilter | None = state.get(_FILTER)
        return None if rules is None else explanation.skews(rules, node.slot)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        return explanation.counts_in_words(self._scoring(state)[0], node.slot) if state.get(_SCORE) else ""

    def _after_pod_change(self, pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
        try:
            helps = hints.pod_change_helps(pod, self._source.hard(pod.template), old, new)
        except SelectorError:
            helps = True
        return fwk.QueueingHint.Queue if helps else fwk.QueueingHint.QueueSkip

    def _after_node_change(self, pod: fwk.Pod, old: Node | None, new: Node | None) -> fwk.QueueingHint:
        try:
            helps = hints.node_change_helps(self._source.hard(pod.template), old, new)
        except SelectorError:
            helps = True
        return fwk.QueueingHint.Queue if helps else fwk.QueueingHint.QueueSkip

    def _filter_rules(self, template: fwk.PodTemplate) -> SpreadFilter | None:
        constraints = self._source.hard(template)
        if not constraints:
            return None
        key = (SpreadFilter, self)
        known: SpreadFilter | None = template.derived.get(key)
        if known is None or known.constraints is not constraints:
            known = template.derived[key] = SpreadFilter(self.cluster, template, constraints, self._eligibilities)
        return known

    def _score_rules(self, template: fwk.PodTemplate) -> SpreadScorer | None:
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
    def _scoring(state: fwk.CycleState) -> tuple[SpreadScorer, ConstraintWeights]:
        found: tuple[SpreadScorer, ConstraintWeights] = state.read(_SCORE)
        return found
