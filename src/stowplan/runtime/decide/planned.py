"""The source of answers for all pods of a template but the first: its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import CycleState, Mask, Nodes, Pod
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
from stowplan.runtime.decide.normalize import Raw
from stowplan.runtime.decide.plan import Plan
from stowplan.runtime.decide.scoring import normalize, run_pre_scores, weighted_sum
from stowplan.runtime.decide.sources import Afresh
from stowplan.runtime.decide.ties import TIE_BITS, Ranks, best_slot
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.decide.sampling import Sampler
    from stowplan.runtime.profile.profile import Profile


class Planned:
    """Answers kept in the plan of a pod template. One object serves all cycles of the template's pods."""

    __slots__ = ("_allowed", "_answers", "_profile", "_ranked", "_selection", "_undisturbed", "plan", "used")

    diagnosis = None

    def __init__(self, profile: Profile, pod: Pod) -> None:
        self.plan = Plan(profile, pod)
        self.used = 0
        """The number of the latest cycle, by which the profile drops plans."""
        self._profile = profile
        self._selection = profile.cluster.selection
        self._undisturbed = False
        self._allowed: Mask | None = None
        """Nodes left by the filters that run in every cycle; None for all nodes that pass in the plan."""
        self._ranked: Nodes | None = None
        """The nodes that ranks are of; None for all slots."""
        self._answers: OutOfTreeAnswers = {}

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered:
        plan = self.plan
        if plan.rules_version != self._selection.rules_version:
            plan.apply_rules(pod)
        self._undisturbed = undisturbed = not self._profile.nominator.by_node and plan.undisturbed(pod)
        if undisturbed:
            return NO_OBJECTION
        state.skip_filter = plan.skipped if not state.skip_filter else state.skip_filter | plan.skipped
        return run_pre_filters(plan.pre_filters, state, pod, plan.nodes.everything())

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int:
        plan = self.plan
        self._allowed = self._ranked = None
        if not self._undisturbed:
            if pre_filtered is not NO_OBJECTION:
                return 0
            skipped = state.skip_filter
            if skipped is not plan.skipped and not plan.folded.isdisjoint(skipped):
                return 0  # An out-of-tree plugin skips this pod, and the plan has its answers for the template.
            plan.check_tokens(state, pod)
        plan.refresh((state, pod))
        return self._run_live_filters(state, pod) if plan.live_filters else plan.feasible

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int:
        passing = self._passing()
        left = filter_with_nominated_pods(self._profile, state, pod, self.plan.nodes.everything(), passing)
        if left is not passing:
            self._allowed = left
        return int(np.count_nonzero(left))

    @property
    def has_ranks(self) -> bool:
        """Whether ranks of the plan are the final ones of any part of the nodes, after `run_filters`."""
        plan = self.plan
        return self._allowed is None and not (plan.live_scorers or plan.pre_scores or plan.normalized)

    def restrict(self, allowed: Mask) -> int:
        """Leaves out the nodes that are not allowed, by slot; returns the number of feasible nodes."""
        self._allowed = allowed if self._allowed is None else self._allowed & allowed
        return int(np.count_nonzero(self._passing()))

    def afresh(
        self, state: CycleState, pod: Pod, pre_filtered: PreFiltered, diagnosis: Diagnosis | None = None
    ) -> Afresh:
        plan = self.plan
        if self._undisturbed:
            state.skip_filter |= plan.skipped
            run_pre_filters(plan.pre_filters, state, pod, plan.nodes.everything())
        answers, self._answers = self._answers, {}
        return Afresh((diagnosis or Diagnosis(self._profile, pod)).resume(state, pre_filtered, answers))

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        slots = np.flatnonzero(self._passing())
        found, evaluated = sampler.pick(slots, len(self.plan.nodes))
        if len(found) < len(slots):
            self._allowed = np.zeros(len(self.plan.ok), dtype=np.bool_)
            self._allowed[found] = True
        return len(found), evaluated

    def only_slot(self) -> int:
        return int(self._passing().argmax())

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        plan, allowed = self.plan, self._allowed
        if plan.live_scorers or plan.pre_scores or (allowed is not None and plan.normalized):
            ranks = self._live_ranks(state, pod)
            if ranks is not None:
                return ranks
        return plan.key if allowed is None else plan.key * allowed

    def select_host(self, ranks: Ranks) -> int:
        return int(ranks.argmax()) if self._ranked is None else best_slot(self._ranked, ranks)

    def _passing(self) -> Mask:
        """By slot: the feasible nodes."""
        return self.plan.ok if self._allowed is None else self.plan.ok & self._allowed

    def passing(self) -> Mask:
        """By slot: the feasible nodes, after `run_filters`."""
        return self._passing()

    def _run_live_filters(self, state: CycleState, pod: Pod) -> int:
        """The filters that have to run in every cycle."""
        profile, everything = self._profile, self.plan.nodes.everything()
        self._answers = {}
        for plugin in self.plan.live_filters:
            if plugin.name in state.skip_filter:
                continue
            if isinstance(plugin, OutOfTreePlugin):
                open_ = self._passing()
                passing = filter_out_of_tree(profile, plugin, state, pod, everything, open_, self._answers)
            else:
                passing = passing_nodes(plugin, state, pod, everything)
            self._allowed = passing if self._allowed is None else self._allowed & passing
        return int(np.count_nonzero(self._passing()))

    def _live_ranks(self, state: CycleState, pod: Pod) -> Ranks | None:
        """Ranks with the scores that have to be made in every cycle; None where the plan's ranks have all scores."""
        plan, nodes = self.plan, self.plan.nodes_allowed(self._allowed)
        run_pre_scores(plan.pre_scores, state, pod, nodes)
        scorers = [scorer for scorer in plan.live_scorers if scorer.plugin.name not in state.skip_score]
        index = nodes.index
        if plan.normalized and self._allowed is not None:
            total = plan.totals(nodes)
            for part in plan.normalized:
                raw = part.raw[index].copy()
                total = total + part.over(raw, *nodes.extremes(raw))
            ranks: Ranks = total << TIE_BITS
            ranks += self._profile.ties.bits(index)
        elif scorers:
            ranks = plan.key[index]
        else:
            return None
        live: Raw | None = None
        for plugin, weight in scorers:
            scores = normalize(plugin, state, pod, plugin.score_nodes(state, pod, nodes), nodes)
            live = weighted_sum(live, weight, scores)
        self._ranked = nodes
        return ranks if live is None else (live << TIE_BITS) + ranks
