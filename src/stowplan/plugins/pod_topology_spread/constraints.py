"""Topology spread constraints of a pod, its own or the defaults, compiled.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stowplan import framework as fwk
from stowplan.api import TopologySpreadConstraint
from stowplan.api.selectors import Selector, compile_label_selector, selector_from_map
from stowplan.cache import Clause, Cluster, PodSelector, SlotCounts
from stowplan.config.args import SYSTEM_DEFAULTING, PodTopologySpreadArgs
from stowplan.plugins.pod_topology_spread.default_selector import DefaultSelectors

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
HOSTNAME = "kubernetes.io/hostname"

_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)


class SpreadConstraint(NamedTuple):
    """One constraint with all defaults filled in."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    def counts(self, cluster: Cluster, namespace: str) -> SlotCounts:
        """Live counts of the pods that match the constraint's selector.

        An empty selector counts nothing, except in a what-if, where kube-scheduler counts the added or removed pod.
        """
        clause = Clause(frozenset((namespace,)), self.selector)
        return cluster.counts_for(PodSelector((clause,), terminating=False, settled=not self.selector.empty))


Constraints = tuple[SpreadConstraint, ...]


class ConstraintSource:
    """The constraints of pods. Returns the same object as long as the constraints are equal."""

    def __init__(self, args: PodTopologySpreadArgs, cluster: Cluster) -> None:
        self._selectors = DefaultSelectors(cluster)
        self._system = args.defaulting_type == SYSTEM_DEFAULTING
        defaults = _SYSTEM_DEFAULTS if self._system else args.default_constraints
        self._defaults = {action: compile_constraints(defaults, {}, action) for action in (HARD, SOFT)}

    def hard(self, template: fwk.PodTemplate) -> Constraints:
        """The constraints that a node must satisfy. Raises SelectorError if the pod's own constraints are malformed."""
        if template.spec.topology_spread_constraints:
            return template.derive(HARD, _own_hard)
        return self._default(template, HARD)

    def soft(self, template: fwk.PodTemplate) -> Constraints:
        """The constraints for scoring. Raises SelectorError like `hard`."""
        if template.spec.topology_spread_constraints:
            return template.derive(SOFT, _own_soft)
        return self._default(template, SOFT)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        """Whether pods of the template can have constraints."""
        return bool(template.spec.topology_spread_constraints or any(self._defaults.values()))

    def requires_all_keys(self, template: fwk.PodTemplate) -> bool:
        """Whether scoring ignores nodes that lack a topology key. False for the system defaults."""
        return bool(template.spec.topology_spread_constraints) or not self._system

    def _default(self, template: fwk.PodTemplate, action: str) -> Constraints:
        defaults = self._defaults[action]
        if not defaults:
            return ()
        selector = self._selectors.of(template)
        if selector.empty:
            return ()
        key = (self, action)
        known: Constraints | None = template.derived.get(key)
        if known is None or known[0].selector != selector:
            known = template.derived[key] = tuple(constraint._replace(selector=selector) for constraint in defaults)
        return known


def compile_constraints(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> Constraints:
    """Compiles the constraints with the given action, for a pod with these labels."""
    return tuple(_compile(c, labels) for c in constraints if c.when_unsatisfiable == action)


def _compile(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> SpreadConstraint:
    selector = compile_label_selector(constraint.label_selector)
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return SpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector.conjoin(selector_from_map(own)),
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy in (None, "Honor"),
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def _own_hard(template: fwk.PodTemplate) -> Constraints:
    return compile_constraints(template.spec.topology_spread_constraints, template.labels, HARD)


def _own_soft(template: fwk.PodTemplate) -> Constraints:
    return compile_constraints(template.spec.topology_spread_constraints, template.labels, SOFT)
