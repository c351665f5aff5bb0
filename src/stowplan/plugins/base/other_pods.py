"""Other pods in explanations: the pods of a topology domain, and those that would have to leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.selectors import DOES_NOT_EXIST, NOT_IN, Selector, compile_label_selector
from stowplan.cache import Cluster, DomainCounts

_EFFORT_LOWER_PRIORITY = 5.0
_EFFORT_PROTECTED = 3.0
_EFFORT_OTHERS = 9.0
MAX_EXPLAINED_RULES = 6
"""Constraints or terms of a pod that are explained for one node; a pod may have a hundred."""
MAX_EXAMINED_PODS = 300
"""To go through all pods of a large domain would take longer than a piece of an explanation should."""


def pods_in_domain(
    cluster: Cluster,
    domains: DomainCounts,
    domain: int,
    matches: Callable[[fwk.PodTemplate], bool],
    eligible: fwk.Mask | None = None,
) -> Iterator[fwk.Pod]:
    """The pods on the nodes of a domain that the sums count, at most 300; `matches` says which templates they have."""
    counted = (domains.column.array == domain) & (domains.counts.array > 0)
    if eligible is not None:
        counted &= eligible
    known: dict[fwk.PodTemplate, bool] = {}
    left = MAX_EXAMINED_PODS
    for slot in np.flatnonzero(counted).tolist():
        info = cluster.nodes.infos[slot]
        for pod in () if info is None else info.pods.values():
            template = pod.template
            if template not in known:
                known[template] = matches(template)
            if known[template]:
                left -= 1
                yield pod
                if not left:
                    return


def leave(cluster: Cluster, pod: fwk.Pod, others: Iterable[fwk.Pod]) -> fwk.Change:
    """The change that other pods leave their nodes."""
    gone = list(others)
    if all(other.priority < pod.priority for other in gone):
        effort = _EFFORT_LOWER_PRIORITY + len(gone) + _EFFORT_PROTECTED * _protected(cluster, gone)
    else:
        effort = _EFFORT_OTHERS + len(gone)
    more, names = len(gone) - 1, {other.node_name for other in gone}
    return fwk.Change(
        kind="leave",
        on="node" if len(names) == 1 else "cluster",
        node=names.pop() if len(names) == 1 else "",
        text=f"{gone[0].key} and {more:,} more leave" if more else f"{gone[0].key} leaves",
        effort=effort,
        pods=tuple(fwk.LeavingPod(other.key, other.priority, other.node_name) for other in gone),
    )


def in_words_with_owner(pod: fwk.Pod) -> str:
    """`shop/web-1`; a pod that its DaemonSet would start again on the same node is marked."""
    owner = pod.template.controller
    return f"{pod.key} (DaemonSet: it comes back)" if owner is not None and owner.kind == "DaemonSet" else pod.key


def matching_labels(selector: Selector) -> dict[str, str]:
    """Labels that the selector matches, as few as possible."""
    return {
        each.key: each.values[0] if each.values else ""
        for each in selector.requirements
        if each.operator not in (NOT_IN, DOES_NOT_EXIST)
    }


def _protected(cluster: Cluster, pods: list[fwk.Pod]) -> int:
    """How many of the pods a PodDisruptionBudget protects from eviction."""
    budgets = list(cluster.stores.of(api.PodDisruptionBudget))
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    found = 0
    for pod in pods:
        protected = False
        for number, budget in enumerate(budgets):
            selector = compile_label_selector(budget.spec.selector)
            if budget.metadata.namespace == pod.namespace and not selector.empty and selector.matches(pod.labels):
                allowed[number] -= 1
                protected = protected or allowed[number] < 0
        found += protected
    return found
