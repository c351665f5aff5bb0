"""The three sources that a decision takes the answers of plugins from.

- `Afresh`: every plugin on every node, with the statuses. The definition: the other two come to the same decision.
- `Shared`: the first pod of a template. Vectors over all nodes, of which those that depend on node objects alone are
  shared with other templates. Nothing is kept for the template, of which there may never be another pod.
- `Planned` (in `planned`): further pods of a template. A `Plan` keeps whether each node passes and what it scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stowplan.framework import CycleState, Mask, Nodes, Normalizer, Pod
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.decision import best_slots
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import (
    NO_OBJECTION,
    OutOfTreeAnswers,
    PreFiltered,
    filter_out_of_tree,
    passing_nodes,
    run_pre_filters,
)
from stowplan.runtime.decide.nominated_pods import filter_with_nominated_pods
from stowplan.runtime.decide.normalize import NORMALIZERS, Raw
from stowplan.runtime.decide.scoring import Weighted, normalize, run_pre_scores, weighted_sum
from stowplan.runtime.decide.shared_answers import NodeView
from stowplan.runtime.decide.ties import TIE_BITS, Ranks, best_slot
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.decide.sampling import Sampler
    from stowplan.runtime.profile.profile import Profile


class AnswerSource(Protocol):
    """The stages of the pipeline, which calls them in this order. Filter stages return the number of feasible nodes."""

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Statuses of all nodes, where the source has them."""
        ...

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered: ...

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int: ...

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int: ...

    def afresh(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> Afresh:
        """The source that takes over after PreFilter."""
        ...

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        """Keep the feasible nodes that a search which stops early finds: (their number, the number of nodes
        it filters)."""
        ...

    def only_slot(self) -> int:
        """The feasible node where there is one, which needs no scores."""
        ...

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        """PreScore, Score and normalisation: ranks of the feasible nodes."""
        ...

    def select_host(self, ranks: Ranks) -> int:
        """The slot of the node with the highest rank."""
        ...


class Afresh:
    """Answers made for this pod alone."""

    __slots__ = ("diagnosis",)

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis: Diagnosis = diagnosis

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered:
        profile = self.diagnosis.profile
        self.diagnosis.state = state
        return run_pre_filters(profile.pre_filters, state, pod, profile.cluster.nodes.everything())

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int:
        return len(self.diagnosis.examine(pre_filtered).feasible)

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int:
        return len(self.diagnosis.feasible)  # A diagnosis counts nominated pods node by node.

    def afresh(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> Afresh:
        return self

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        evaluated = self.diagnosis.sample(sampler)
        return len(self.diagnosis.feasible), evaluated

    def only_slot(self) -> int:
        return int(self.diagnosis.feasible[0])

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        return self.diagnosis.score().total

    def select_host(self, ranks: Ranks) -> int:
        return int(best_slots(self.diagnosis)[0])


class Shared:
    """Vectors made for this pod, and those about node objects shared with other templates."""

    __slots__ = ("_answers", "_feasible", "_nodes", "_passing", "_plugins", "_profile", "_table", "_view")

    diagnosis = None

    def __init__(self, profile: Profile, pod: Pod) -> None:
        self._profile = profile
        self._table = profile.cluster.nodes
        self._plugins = profile.plugins_by_scope.of(pod.template)
        self._answers: OutOfTreeAnswers = {}
        self._feasible: Nodes | None = None

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered:
        plugins = self._plugins
        idle = [plugin.name for plugin in plugins.cluster_plugins if plugin.idle_filter(pod)]
        skipped = state.skip_filter = state.skip_filter.union(plugins.unconcerned, idle)
        active = [plugin for plugin in plugins.pre_filters if plugin.name not in skipped]
        return run_pre_filters(active, state, pod, self._table.everything())

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int:
        if pre_filtered is not NO_OBJECTION:
            return 0
        plugins, table = self._plugins, self._table
        run_pre_scores(plugins.constant_pre_scores, state, pod, table.everything())
        self._view = view = self._known_view(state, pod)
        self._nodes = table.everything()
        self._passing: Mask = table.alive[: table.high] if view is None else view.ok
        if view is not None and view.open * 2 < table.high:
            self._narrow(table.subset(view.slots, fleeting=True))
        # Answers about node objects come first: where they leave few nodes, the other filters run on those alone.
        self._filter(state, pod, plugins.node_filters if view is None else plugins.out_of_tree_node_filters)
        self._filter(state, pod, plugins.pod_filters)
        self._filter(state, pod, plugins.cluster_filters)
        return int(np.count_nonzero(self._passing))

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int:
        self._passing = filter_with_nominated_pods(self._profile, state, pod, self._nodes, self._passing)
        return int(np.count_nonzero(self._passing))

    def afresh(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> Afresh:
        return Afresh(Diagnosis(self._profile, pod).resume(state, pre_filtered, self._answers))

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        found, evaluated = sampler.pick(self._feasible_nodes().slots(), len(self._table))
        self._feasible = self._table.subset(found)
        return len(found), evaluated

    def only_slot(self) -> int:
        return int(self._feasible_nodes().slots()[0])

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        profile, plugins, view, nodes = self._profile, self._plugins, self._view, self._feasible_nodes()
        for plugin in plugins.cluster_plugins:
            if plugin.idle_score(pod):
                state.skip_score |= {plugin.name}
        run_pre_scores(plugins.cycle_pre_scores, state, pod, nodes)
        together = state.skip_score.isdisjoint(plugins.pod_scorer_names)
        total = plugins.pod_scores.total(state, pod, nodes) if together else None
        for plugin, weight in self._scorers(state, pods=not together):
            scores = plugin.score_nodes(state, pod, nodes)
            if plugin.normalize is None:
                total = weighted_sum(total, weight, normalize(plugin, state, pod, scores, nodes))
            else:
                total = _sum_normalized(total, plugin.normalize, weight, scores, nodes)
        base: Ranks = profile.ties.noise
        if view is not None:
            base = view.ranks(base, profile.rank_type)
            for plugin, weight, raw in view.normalized:
                assert plugin.normalize is not None
                total = _sum_normalized(total, plugin.normalize, weight, raw[nodes.index].copy(), nodes)
        if total is None:
            total = np.zeros(len(nodes), dtype=profile.rank_type)
        scaled: Ranks = total.astype(profile.rank_type, copy=False)
        ranks: Ranks = scaled << TIE_BITS
        ranks += nodes.read(base)
        ranks -= nodes.read(profile.ties.handicap)
        return ranks

    def select_host(self, ranks: Ranks) -> int:
        return best_slot(self._feasible_nodes(), ranks)

    def _known_view(self, state: CycleState, pod: Pod) -> NodeView | None:
        """The answers about node objects, from the second template on that reads the same."""
        active = self._plugins.in_tree_node_plugins.without(state.skip_filter, state.skip_score)
        return self._profile.static_answers.known_view(active, state, pod)

    def _filter(self, state: CycleState, pod: Pod, plugins: Iterable[InTreePlugin]) -> None:
        """Leave only the nodes that pass these filters."""
        ran = False
        for plugin in plugins:
            if plugin.name in state.skip_filter:
                continue
            ran = True
            if isinstance(plugin, OutOfTreePlugin):
                self._passing = filter_out_of_tree(
                    self._profile, plugin, state, pod, self._nodes, self._passing, self._answers
                )
            else:
                self._passing = self._passing & passing_nodes(plugin, state, pod, self._nodes)
        if ran and self._nodes is self._table.everything():
            left = int(np.count_nonzero(self._passing))
            if left * 2 < len(self._passing):
                self._narrow(self._table.subset(np.flatnonzero(self._passing), fleeting=True))

    def _narrow(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._passing = np.ones(len(nodes), dtype=np.bool_)

    def _feasible_nodes(self) -> Nodes:
        if self._feasible is None:
            table = self._table
            if self._nodes is table.everything():
                self._feasible = table.where(self._passing)
            else:
                positions = np.flatnonzero(self._passing)
                everyone = len(positions) == len(self._nodes)
                slots = self._nodes.slots_at(positions)
                self._feasible = self._nodes if everyone else table.subset(slots, fleeting=True)
        return self._feasible

    def _scorers(self, state: CycleState, *, pods: bool) -> list[Weighted]:
        """The plugins whose scores are no part of the view; those of scope node+pods only on request."""
        plugins, unscored = self._plugins, state.skip_score
        listed = plugins.unshared_scorers
        if self._view is None:
            listed = [*plugins.node_scorers, *plugins.normalized_scorers, *plugins.other_scorers]
        if pods:
            listed = [*plugins.pod_scorers, *listed]
        return [s for s in listed if s.plugin.name not in unscored]


def _sum_normalized(total: Raw | None, how: Normalizer, weight: int, raw: Raw, nodes: Nodes) -> Raw | None:
    least, most = nodes.extremes(raw)
    if least == most:
        return total  # Equal for all nodes, whatever it is normalised to.
    return weighted_sum(total, weight, NORMALIZERS[how](raw, least, most))
