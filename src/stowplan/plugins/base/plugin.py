"""The interface that the runtime calls: framework.Plugin, and hooks that only in-tree plugins override.

The hooks let the runtime do less work; decisions never depend on them. They are not offered to authors of out-of-tree
plugins, since a wrong answer would change decisions unnoticed. `OutOfTreePlugin` inherits the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import Cluster
from stowplan.framework import CycleState, Handle, Mask, Nodes, Plugin, Pod, PodTemplate, QueuedPodInfo, Status
from stowplan.framework.plugin import is_set_beside
from stowplan.plugins.base.victim_rules import VictimRules


class Demand(NamedTuple):
    """An amount of a resource that a pod needs free on its node. The resource "pods" counts the pods on the node."""

    resource: str
    amount: int
    reason: str
    """The reason for rejecting a node that has less."""


class SharedScorer(Protocol):
    """Scores nodes for several plugins in one call, for plugins that share most of their arithmetic."""

    def total(self, template: PodTemplate, nodes: Nodes, weights: Mapping[str, int]) -> NDArray[Any] | None:
        """The weighted sum of the plugins' scores, in any integer type; `weights` is keyed by part.

        None: the plugins have to be called one by one this time.
        """
        ...


FORMS: Mapping[str, tuple[str, ...]] = {
    "pre_filter": ("idle_filter",),
    "filter": ("filter_nodes", "passing_nodes", "slot_filter", "demands"),
    "pre_score": ("idle_score",),
    "score": ("score_nodes", "slot_scorer", "shared_scorer"),
    "normalize_score": ("normalize_nodes",),
}
"""By method of an in-tree plugin: the methods that may be called instead of it, and have to agree with it."""


class InTreePlugin(Plugin):
    """A plugin with both forms: plain ints for one node, columns for many. Property tests compare the two forms."""

    reads_pod_status: ClassVar[bool] = False
    """Whether the plugin reads `pod.metadata` or `pod.status`, which are kept only if it does."""
    template_only: ClassVar[bool] = False
    """Whether PreFilter and PreScore depend on the pod's template alone, so that one answer serves all its pods."""

    scores_infeasible_nodes: ClassVar[bool] = True
    """Whether `score_nodes` returns valid scores for nodes that are not feasible, too."""

    reads_cache: ClassVar[bool] = False
    """For a plugin of cluster scope: whether PreFilter and Filter depend on nothing but the template, the nodes and
    pods of the cache, and objects that `rules_version` counts. Otherwise refusals of its pods are not remembered."""

    reads_template_and_timestamp_only: ClassVar[bool] = False
    """For a QueueSort plugin: whether the order depends on nothing but the template and the timestamp, so that equal
    pods that were refused together may stay together in the queue. It holds for the `less` and `sort_key` of the class
    that sets it: a subclass that overrides one of them sets it again, or gives it up."""

    reserves_by_default: ClassVar[bool] = True
    """Whether Reserve has an effect with default args, so that an extender has to bind the pods of the plugin."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.cluster: Cluster = handle.cluster
        self.nodes = self.cluster.nodes

    def current_sort_key(self) -> Callable[[QueuedPodInfo], Any] | None:
        """`sort_key`; None for a subclass that overrides `less` and inherits a key that orders like the old one."""
        return self.sort_key if is_set_beside(type(self), "sort_key", "less") else None

    @classmethod
    def keeps_equal_pods_together(cls) -> bool:
        """Whether `reads_template_and_timestamp_only` is true of the class's own order."""
        name = "reads_template_and_timestamp_only"
        return cls.reads_template_and_timestamp_only and is_set_beside(cls, name, "less", "sort_key")

    def passing_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Mask:
        """The nodes that `filter_nodes` does not reject. Override where that is cheaper than finding the reasons."""
        rejected: Mask | None = None
        for mask, _ in self.filter_nodes(state, pod, nodes):
            rejected = mask if rejected is None else rejected | mask
        return np.ones(len(nodes), dtype=np.bool_) if rejected is None else ~rejected

    def slot_filter(self, template: PodTemplate) -> Callable[[int], Status | None] | None:
        """`filter` as a function of the slot, for a plugin that reads nothing but template and node; else None."""
        return None

    def slot_scorer(self, template: PodTemplate) -> Callable[[int], int] | None:
        """`score` as a function of the slot, for a plugin that reads nothing but template and node; else None."""
        return None

    def shared_scorer(self) -> tuple[SharedScorer, str] | None:
        """The object that scores many nodes for this plugin and others, and the name of this plugin's part; or None.

        Only for plugins whose scores are not normalised. `score_nodes` remains the definition.
        """
        return None

    def demands(self, template: PodTemplate) -> tuple[Demand, ...] | None:
        """The amounts that `filter` compares with what is free on the node, for a plugin of scope "node+pods" that
        checks nothing else; None otherwise. Preemption then computes victims for many nodes at once."""
        return None

    def victim_rules(self, state: CycleState, pod: Pod) -> VictimRules | None:
        """The rules by which PostFilter selects victims; None: it evicts none, or by the rules of DefaultPreemption."""
        return None

    def settled_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes, nominated: Iterable[Iterable[Pod]]
    ) -> Mask | None:
        """For a plugin of cluster scope: the nodes that pass `filter`, where evicting pods from a node, or adding the
        pods nominated to it (`nominated`, by node), cannot change the answer about any node; None otherwise."""
        return None

    def idle_filter(self, pod: Pod) -> bool:
        """For a plugin of cluster scope. True: PreFilter returns Skip for all pods of this template until the
        cluster's `rules_version` changes, so it is not called."""
        return False

    def idle_score(self, pod: Pod) -> bool:
        """The same for PreScore."""
        return False
