"""The plugin NodeResourcesFit: filters by free resources, scores by strategy.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from stowplan import framework as fwk
from stowplan.api.text_cache import text_cache
from stowplan.cache.device_classes import IMPLICIT_PREFIX, backing_device_class
from stowplan.cache.requests import is_extended_resource
from stowplan.config.args import NodeResourcesFitArgs
from stowplan.plugins.base import LEAST_ALLOCATED_PART, Demand, InTreePlugin, SharedScorer, shared_scorer_of
from stowplan.plugins.node_resources_fit import hints
from stowplan.plugins.node_resources_fit.explanation import FitCheck, explain_amounts, explain_shortages
from stowplan.plugins.node_resources_fit.scoring import StrategyScorer

NAME = "NodeResourcesFit"
TOO_MANY_PODS = "Too many pods"
CPU_AND_MEMORY = frozenset({"cpu", "memory"})
_MAX_STATUSES = 1024
_MAX_KEPT_REASONS = 4
"""Statuses with more reasons are not kept: pods name resources as they like."""


@text_cache(_MAX_STATUSES)
def _status(code: fwk.Code, *reasons: str) -> fwk.Status:
    return fwk.Status(code, *reasons, plugin=NAME)


class NodeResourcesFit(InTreePlugin):
    """Rejects nodes without room for the pod; scores by free or used resources, or by a shape of utilization."""

    name = NAME
    reads = ("DeviceClass",)
    scope = "node+pods"
    template_only = True

    def __init__(self, args: NodeResourcesFitArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = shared_scorer_of(self.cluster)
        self._strategy = StrategyScorer(args.scoring_strategy, self.nodes, self._resources)
        unresolvable = self.cluster.release.rules.too_small_is_unresolvable
        self._too_small = fwk.Code.UnschedulableAndUnresolvable if unresolvable else fwk.Code.Unschedulable
        """The code for a node that is too small even when it is empty."""

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return (tuple(template.requests.items()), self._strategy.requests(template))

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> None:
        return None

    def slot_filter(self, template: fwk.PodTemplate) -> Callable[[int], fwk.Status | None]:
        return template.derive((self, "filter"), self._make_filter)

    def demands(self, template: fwk.PodTemplate) -> tuple[Demand, ...] | None:
        checks = self._checks(template)
        if any(check.delegable and backing_device_class(self.cluster, check.resource) for check in checks):
            return None
        amounts = (Demand(check.resource, check.amount, f"Insufficient {check.resource}") for check in checks)
        return (Demand("pods", 1, TOO_MANY_PODS), *amounts)

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        return self.slot_filter(pod.template)(node.slot)

    def passing_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Mask:
        if self.cluster.journal.active:
            return super().passing_nodes(state, pod, nodes)
        passing = self._resources.fits(pod.template, nodes)
        if not pod.template.requests.keys() <= CPU_AND_MEMORY:
            for check in self._checks(pod.template):
                if check.resource not in CPU_AND_MEMORY:
                    passing &= ~self._short(check, nodes)
                    if not passing.any():
                        break
        return passing

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        full: fwk.Mask = nodes.read(self.nodes.pod_count.array) >= nodes.read(self.nodes.allowed_pods.array)
        yield full, _status(fwk.Code.Unschedulable, TOO_MANY_PODS)
        for check in self._checks(pod.template):
            short = self._short(check, nodes)
            unresolvable = short & (nodes.read(check.allocatable.array) < check.amount)
            yield short & ~unresolvable, _status(fwk.Code.Unschedulable, f"Insufficient {check.resource}")
            yield unresolvable, _status(self._too_small, f"Insufficient {check.resource}")

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> list[fwk.Refusal]:
        checks = [check for check in self._checks(pod.template) if not self._is_delegated(check, node.slot)]
        return explain_shortages(checks, self.nodes, pod, node)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        return explain_amounts(self._checks(pod.template), node)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        return self._strategy.in_words(pod.template, node.slot)

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> None:
        return None

    def slot_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        return self._strategy.scorer(template)

    def shared_scorer(self) -> tuple[SharedScorer, str] | None:
        return (self._resources, LEAST_ALLOCATED_PART) if self._strategy.is_default else None

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return self._strategy.scorer(pod.template)(node.slot)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        return self._strategy.score_nodes(pod.template, nodes, kept=not self.cluster.journal.active)

    def score_placement(
        self, state: fwk.CycleState, group: fwk.PodGroupInfo, assignments: fwk.PodGroupAssignments
    ) -> int:
        return self._strategy.score_placement((pod for pod, _ in assignments.assignments), assignments.placement.nodes)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        by_class = self.cluster.backs_extended_resources and self.cluster.release.rules.devices.classes_wake_fit
        node_hint = hints.NodeHint(self.cluster if by_class else None)
        events = [
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete | fwk.Action.UpdatePodScaleDown, hints.after_pod_event),
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeAllocatable, node_hint),
        ]
        if by_class:
            changes = fwk.Action.Add | fwk.Action.Update
            events.append(fwk.on(fwk.EventResource.DeviceClass, changes, hints.after_device_class_event))
        return events

    def _short(self, check: FitCheck, nodes: fwk.Nodes) -> fwk.Mask:
        allocatable = nodes.read(check.allocatable.array)
        short: fwk.Mask = allocatable - nodes.read(check.requested.array) < check.amount
        if check.delegable and backing_device_class(self.cluster, check.resource) is not None:
            short &= allocatable > 0
        return short

    def _checks(self, template: fwk.PodTemplate) -> tuple[FitCheck, ...]:
        return template.derive(self, self._make_checks)

    def _make_checks(self, template: fwk.PodTemplate) -> tuple[FitCheck, ...]:
        native = ("cpu", "memory", "ephemeral-storage")
        order = [name for name in native if name in template.requests]
        order += sorted(name for name in template.requests if name not in native)
        checks = []
        for name in order:
            if template.requests[name] and not self._is_ignored(name):
                allocatable, requested = self.nodes.resource(name)
                delegable = is_extended_resource(name) or name.startswith(IMPLICIT_PREFIX)
                checks.append(FitCheck(name, template.requests[name], allocatable, requested, delegable))
        return tuple(checks)

    def _is_ignored(self, resource: str) -> bool:
        if not is_extended_resource(resource):
            return False
        return resource in self._ignored or resource.split("/", 1)[0] in self._ignored_groups

    def _make_filter(self, template: fwk.PodTemplate) -> Callable[[int], fwk.Status | None]:
        checks = self._checks(template)
        amounts = tuple((check.allocatable.values, check.requested.values, check.amount) for check in checks)
        pods, allowed = self.nodes.pod_count.values, self.nodes.allowed_pods.values

        def check(slot: int) -> fwk.Status | None:
            if pods[slot] >= allowed[slot]:
                return self._explain(checks, slot)
            for allocatable, requested, amount in amounts:
                if amount > allocatable[slot] - requested[slot]:
                    return self._explain(checks, slot)
            return None

        return check

    def _explain(self, checks: tuple[FitCheck, ...], slot: int) -> fwk.Status | None:
        """All reasons why the node has no room; None if only resources are missing that DynamicResources checks."""
        code = fwk.Code.Unschedulable
        reasons = []
        if self.nodes.pod_count.values[slot] >= self.nodes.allowed_pods.values[slot]:
            reasons.append(TOO_MANY_PODS)
        for check in checks:
            allocatable = check.allocatable.values[slot]
            if check.amount <= allocatable - check.requested.values[slot]:
                continue
            if self._is_delegated(check, slot):
                continue
            reasons.append(f"Insufficient {check.resource}")
            if check.amount > allocatable:
                code = self._too_small
        if len(reasons) > _MAX_KEPT_REASONS:
            return fwk.Status(code, *reasons, plugin=NAME)
        return _status(code, *reasons) if reasons else None

    def _is_delegated(self, check: FitCheck, slot: int) -> bool:
        """Whether DynamicResources checks the resource on the node."""
        if not check.delegable or check.allocatable.values[slot]:
            return False
        return backing_device_class(self.cluster, check.resource) is not None
