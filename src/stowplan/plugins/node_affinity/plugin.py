"""NodeAffinity: node selector and node affinity of the pod, and the affinity that the configuration adds to all pods.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.node_selectors import (
    NODE_NAME_FIELD,
    CompiledNodeSelector,
    CompiledPreferredTerms,
    compile_node_selector,
    compile_preferred_terms,
)
from stowplan.api.selector_words import term_in_words
from stowplan.cache.node_matching import match_nodes, match_term, required_nodes
from stowplan.config.args import NodeAffinityArgs
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.node_affinity.demands import NodeDemands, alternatives_of, demands_of
from stowplan.plugins.node_affinity.explanation import explain_added, explain_own, labels_in_words

NAME = "NodeAffinity"
ENFORCED = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable, "node(s) didn't match scheduler-enforced node affinity", plugin=NAME
)
OWN = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable, "node(s) didn't match Pod's node affinity/selector", plugin=NAME
)
CONFLICT = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, "pod affinity terms conflict", plugin=NAME)


class NodeAffinity(InTreePlugin):
    """Filters by required terms, scores by preferred terms."""

    name = NAME
    scope = "node"
    normalize = "default"
    template_only = True

    def __init__(self, args: NodeAffinityArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        added = args.added_affinity or api.NodeAffinity()
        required = added.required_during_scheduling_ignored_during_execution
        self._added: CompiledNodeSelector | None = None if required is None else compile_node_selector(required)
        self._added_demands = NodeDemands((), None if required is None else alternatives_of(required))
        self._added_preferred = compile_preferred_terms(added.preferred_during_scheduling_ignored_during_execution)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(
            self._added is not None
            or self._added_preferred.terms
            or template.spec.node_selector
            or _node_affinity(template) is not None
        )

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return template.derive(NAME, _signature)

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | Iterable[str] | None:
        if self._added is None and required_nodes(pod.template) is None:
            return fwk.skip()
        names = _named_nodes(pod.template)
        return CONFLICT if names is not None and not names else names

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        if self._added is not None and not self._added.matches(node.labels, node.name):
            return ENFORCED
        required = required_nodes(pod.template)
        return None if required is None or required.matches(node) else OWN

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        enforced: fwk.Mask | None = None
        if self._added is not None:
            enforced = ~match_nodes(self.nodes, self._added, nodes.index)
            yield enforced, ENFORCED
        required = required_nodes(pod.template)
        if required is not None:
            own = ~required.match_nodes(self.nodes, nodes.index)
            yield own if enforced is None else own & ~enforced, OWN

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        if self._added is not None and not self._added.matches(node.labels, node.name):
            yield explain_added(self._added_demands, node)
        else:
            yield explain_own(demands_of(pod.spec), pod, node, self.nodes.slot_of)

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterator[fwk.Refusal]:
        text = "its terms name nodes that exclude each other"
        yield fwk.Refusal(id="affinity.names", text=text, wanted=demands_of(pod.spec).words, lasting=True)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        demands = demands_of(pod.spec)
        return labels_in_words(demands, node) if demands.words else None

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        weighted = (*self._added_preferred.terms, *_preferred(pod.template).terms)
        met = [each for each in weighted if each.term.matches(node.labels, node.name)]
        if not met:
            return f"none of {len(weighted)} preferred terms"
        return "prefers " + ", ".join(f"{term_in_words(each.term)} ({each.weight})" for each in met)

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        affinity = _node_affinity(pod.template)
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else ()
        if not preferred and not self._added_preferred.terms:
            return fwk.skip()
        problem = _preferred(pod.template).error
        return None if problem is None else fwk.error(problem)

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        own = _preferred(pod.template).score(node.labels, node.name)
        return own + self._added_preferred.score(node.labels, node.name)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        total: fwk.Scores = np.zeros(len(nodes), dtype=np.int64)
        for weighted in (*self._added_preferred.terms, *_preferred(pod.template).terms):
            total += weighted.weight * match_term(self.nodes, weighted.term, nodes.index)
        return total

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeLabel, self._after_node_event),)

    def _after_node_event(self, pod: fwk.Pod, old: api.Node | None, new: api.Node | None) -> fwk.QueueingHint:
        """Queue if the node matches now and did not match before."""
        now = new is not None and self._accepts(pod, new)
        before = old is not None and self._accepts(pod, old)
        return fwk.QueueingHint.Queue if now and not before else fwk.QueueingHint.QueueSkip

    def _accepts(self, pod: fwk.Pod, node: api.Node) -> bool:
        labels, name = node.metadata.labels, node.metadata.name
        if self._added is not None and not self._added.matches(labels, name):
            return False
        required = required_nodes(pod.template)
        if required is None:
            return True
        if required.labels is not None and not required.labels.matches(labels):
            return False
        return required.affinity is None or required.affinity.matches(labels, name)


def _node_affinity(template: fwk.PodTemplate) -> api.NodeAffinity | None:
    return None if template.spec.affinity is None else template.spec.affinity.node_affinity


def _signature(template: fwk.PodTemplate) -> Hashable:
    return (required_nodes(template), _preferred(template))


def _preferred(template: fwk.PodTemplate) -> CompiledPreferredTerms:
    return template.derive(CompiledPreferredTerms, _compile_preferred)


def _compile_preferred(template: fwk.PodTemplate) -> CompiledPreferredTerms:
    affinity = _node_affinity(template)
    terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else ()
    return compile_preferred_terms(terms)


def _named_nodes(template: fwk.PodTemplate) -> frozenset[str] | None:
    """The node names that the required terms allow, if every term names nodes; else None.

    The pod of a DaemonSet, which is tied to one node, is thus not compared with the others.
    """
    affinity = _node_affinity(template)
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if required is None or not required.node_selector_terms:
        return None
    union: frozenset[str] = frozenset()
    for term in required.node_selector_terms:
        names: frozenset[str] | None = None
        for field in term.match_fields:
            if field.key == NODE_NAME_FIELD and field.operator == "In":
                names = frozenset(field.values) if names is None else names & frozenset(field.values)
        if names is None:
            return None
        union |= names
    return union
