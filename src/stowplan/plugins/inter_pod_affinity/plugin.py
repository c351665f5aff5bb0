"""InterPodAffinity: required and preferred affinity and anti-affinity between pods, by topology domain.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any

from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.selection import pod_terms
from stowplan.config.args import InterPodAffinityArgs
from stowplan.plugins.base import MAX_EXPLAINED_RULES, InTreePlugin
from stowplan.plugins.inter_pod_affinity import explanation, hints, scoring
from stowplan.plugins.inter_pod_affinity.filtering import AffinityFilter
from stowplan.plugins.inter_pod_affinity.scoring import AffinityScorer

_SKIP = fwk.Status(fwk.Code.Skip)
_FILTER = "PreFilterInterPodAffinity"
_SCORE = "PreScoreInterPodAffinity"
_EXPLANATION = "ExplainInterPodAffinity"


class InterPodAffinity(InTreePlugin):
    """Filters by required terms, scores by preferred terms."""

    name = "InterPodAffinity"
    reads = ("Namespace",)
    scope = "cluster"
    reads_cache = True
    Args = InterPodAffinityArgs

    def __init__(self, args: Any, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._hard_weight: int = args.hard_pod_affinity_weight
        self._own_only: bool = args.ignore_preferred_terms_of_existing_pods
        self._leaving_wakes = self.cluster.release.rules.leaving_anti_affinity_wakes

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(
                fwk.EventResource.Pod,
                fwk.Action.Add | fwk.Action.UpdatePodLabel | fwk.Action.Delete,
                hints.after_pod_change if self._leaving_wakes else hints.after_assigned_pod_change,
            ),
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeLabel, hints.after_node_change),
        )

    def idle_filter(self, pod: fwk.Pod) -> bool:
        return not pod_terms(pod.template).errors and self._filter_rules(pod.template) is None

    def idle_score(self, pod: fwk.Pod) -> bool:
        return self._score_rules(pod.template) is None

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        errors = pod_terms(pod.template).errors
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, f"parsing pod: {text}", plugin=self.name)
        rules = self._filter_rules(pod.template)
        if rules is None:
            return _SKIP
        rules.refresh()
        if rules.idle:
            return _SKIP
        state.write(_FILTER, rules)
        return None

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        rules: AffinityFilter = state.read(_FILTER)
        return rules.check(node.slot)

    def slot_filter(self, template: fwk.PodTemplate) -> Callable[[int], fwk.Status | None] | None:
        rules = self._filter_rules(template)
        return None if rules is None else rules.check

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterable[tuple[fwk.Mask, fwk.Status]]:
        rules: AffinityFilter = state.read(_FILTER)
        return rules.check_nodes(nodes)

    def filter_token(self, pod: fwk.Pod) -> Hashable:
        rules: AffinityFilter | None = pod.template.derived.get(AffinityFilter) or self._filter_rules(pod.template)
        return () if rules is None else rules.token()

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        rules = self._score_rules(pod.template)
        weighing = None if rules is None or rules.heedless else rules.weighing()
        if not weighing or scoring.indifferent(weighing, nodes):
            return _SKIP
        state.write(_SCORE, weighing)
        return None

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return scoring.score(state.read(_SCORE), node.slot)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        return scoring.score_nodes(state.read(_SCORE), nodes)

    def normalize_score(self, state: fwk.CycleState, pod: fwk.Pod, scores: dict[str, int]) -> None:
        least, greatest = min(scores.values()), max(scores.values())
        for name, value in scores.items():
            scores[name] = scoring.normalized(value, least, greatest)

    def normalize_nodes(self, state: fwk.CycleState, pod: fwk.Pod, scores: fwk.Scores, nodes: fwk.Nodes) -> fwk.Scores:
        return scoring.normalize_nodes(scores, nodes)

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterable[fwk.Refusal]:
        rules: AffinityFilter | None = state.get(_FILTER)
        if rules is None:
            return ()
        known: explanation.AffinityExplanation | None = state.get(_EXPLANATION)
        if known is None:
            known = explanation.AffinityExplanation(self.cluster, rules, pod)
            state.write(_EXPLANATION, known)
        return islice(known.refusals(node), MAX_EXPLAINED_RULES)

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        text = f"Its pod affinity cannot be read: {'; '.join(pod_terms(pod.template).errors)}"
        return (fwk.Refusal(id="pod-affinity.malformed", text=text, lasting=True),)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        rules: AffinityFilter | None = state.get(_FILTER)
        return None if rules is None else explanation.relations(rules, node.slot)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        rules = self._score_rules(pod.template) if state.get(_SCORE) else None
        return "" if rules is None else explanation.counts_in_words(rules, node.slot)

    def _filter_rules(self, template: fwk.PodTemplate) -> AffinityFilter | None:
        """The required terms for a template; None, with little work, if there are none."""
        known: AffinityFilter | None = template.derived.get(AffinityFilter)
        if known is not None:
            return known
        cluster: Cluster = self.cluster
        terms = pod_terms(template)
        if not (terms.required or terms.required_anti or cluster.footprint(template).pod_class.repelled_by):
            return None
        return template.derive(AffinityFilter, lambda template: AffinityFilter(cluster, template))

    def _score_rules(self, template: fwk.PodTemplate) -> AffinityScorer | None:
        known: AffinityScorer | None = template.derived.get(self)
        if known is not None:
            return known
        terms = pod_terms(template)
        if not (terms.preferred or terms.preferred_anti or self.cluster.footprint(template).pod_class.weighed_by):
            return None
        return template.derive(
            self, lambda template: AffinityScorer(self.cluster, template, self._hard_weight, self._own_only)
        )
