"""The plan of a pod template: kept answers of filters and scores.

A plan holds, by slot, whether the node passes and its rank, as far as plugins read one node at a time. The next pod of
the template pays for the nodes that changed, for one argmax, and for the plugins that read more than one node.
`Diagnosis` defines the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.kept import MAX_SCALAR_REPAIRS, KeptBySlot
from stowplan.framework import Code, CycleState, Mask, NodeInfo, Nodes, Pod, Scores, Slots, Status
from stowplan.runtime.decide.filtering import passes_filter, passing_nodes
from stowplan.runtime.decide.normalize import Normalized, Raw
from stowplan.runtime.decide.scoring import Summed, run_pre_scores, score_of
from stowplan.runtime.decide.ties import TIE_BITS, TIE_MASK, Ranks
from stowplan.runtime.decide.token_filter import TokenFilter

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile


PlannedPod = tuple[CycleState, Pod]
"""The pod that a plan is brought up to date for."""


class Plan(KeptBySlot[PlannedPod]):
    """The kept answers for the pods of one template in one profile."""

    rebuilds_for_nodes = True

    def __init__(self, profile: Profile, pod: Pod) -> None:
        super().__init__(profile.cluster.nodes)
        self.profile = profile
        self._restless: set[str] = set()
        self._plugins = plugins = profile.plugins_by_scope.of(pod.template)
        self._inert = set(plugins.unconcerned)
        self.plain = self._settle_pre_filter(pod)
        """Whether a plan does not pay, because PreFilter names the few nodes to filter."""
        # Lists that are read in every cycle are shared with other plans where possible: a thousand plans used in turn
        # do not fit into the processor's caches, and then each list costs as much as the work on it.
        self._pod_filters = plugins.pod_filters
        if not self._inert.isdisjoint([p.name for p in plugins.pod_filters]):
            self._pod_filters = [p for p in plugins.pod_filters if p.name not in self._inert]
        unscored = self._settle_pre_score(pod)
        self._node_plugins = plugins.node_plugins.without(self._inert, unscored)
        self.folded = frozenset(p.name for p in (*self._node_plugins.filters, *self._pod_filters))
        """The names of filters whose answers are part of the ranks."""
        self._pod_scorers, self._pod_scores = plugins.pod_scorers, plugins.pod_scores
        if not unscored.isdisjoint([s.plugin.name for s in plugins.pod_scorers]):
            self._pod_scorers = [s for s in plugins.pod_scorers if s.plugin.name not in unscored]
            self._pod_scores = Summed(self._pod_scorers)
        self._slot_filters: list[Callable[[int], Status | None]] | None = None
        self.rules_version = -1
        self._feasible_nodes: Nodes | None = None
        self.normalized: tuple[Normalized, ...] = ()

    @property
    def pod_plugins(self) -> frozenset[str]:
        """The plugins of scope node+pods whose answers are part of the ranks."""
        return frozenset(p.name for p in (*self._pod_filters, *(s.plugin for s in self._pod_scorers)))

    def _settle_pre_filter(self, pod: Pod) -> bool:
        """Run PreFilter of plugins that read only the template, once for all its pods."""
        scratch = CycleState()
        for plugin in self._plugins.constant_pre_filters:
            answer = plugin.pre_filter(scratch, pod, self.nodes.everything())
            if isinstance(answer, Status) and answer.code == Code.Skip:
                self._inert.add(plugin.name)
            elif answer is not None:
                return True
        return False

    def _settle_pre_score(self, pod: Pod) -> frozenset[str]:
        """Run PreScore of such plugins; returns the plugins that do not score such pods."""
        scratch = CycleState()
        run_pre_scores(self._plugins.constant_pre_scores, scratch, pod, self.nodes.everything())
        return scratch.skip_score

    def _bind_slots(self, pod: Pod) -> list[Callable[[int], Status | None]]:
        """Bind plugins to the template, for nodes that change one at a time."""
        template = pod.template
        checks = [(p.slot_filter(template), p) for p in self._pod_filters]
        scorers = [(s.plugin.slot_scorer(template), s) for s in self._pod_scorers]
        self._unbound_filters = [p for check, p in checks if check is None]
        self._slot_scorers = [(score, s.weight) for score, s in scorers if score is not None]
        self._unbound_scorers = [s for score, s in scorers if score is None]
        self._slot_filters = [check for check, _ in checks if check is not None]
        return self._slot_filters

    def apply_rules(self, pod: Pod) -> None:
        """Determine the plugins of cluster scope that are active for such pods at present."""
        plugins = self._plugins
        self.rules_version = self.profile.cluster.selection.rules_version
        self.skipped = frozenset(self._inert | {p.name for p in plugins.cluster_plugins if p.idle_filter(pod)})
        self.pre_filters = tuple([p for p in plugins.cycle_pre_filters if p.name not in self.skipped])
        filters = [p for p in plugins.cluster_filters if p.name not in self.skipped]
        calm = [p for p in filters if p.name not in self._restless and p.filter_token(pod) is not None]
        self.token_filters = tuple([TokenFilter(p, pod.template) for p in calm])
        self.live_filters = tuple([p for p in filters if p not in calm])
        bound = {part.plugin.name for part in self.token_filters if part.check is not None}
        self._calm = all(p.name in bound for p in self.pre_filters)
        unscored = {p.name for p in plugins.cluster_plugins if p.idle_score(pod)}
        self.live_scorers = tuple([s for s in plugins.other_scorers if s.plugin.name not in unscored])
        self.pre_scores = tuple([p for p in plugins.cycle_pre_scores if p.name not in unscored])
        self.discard()

    def totals(self, nodes: Nodes) -> Scores:
        """The kept totals of the nodes, without the scores that are normalised over the feasible nodes."""
        index = nodes.index
        earned: Scores = ((self.key[index] - self._offset[index] + TIE_MASK) >> TIE_BITS).astype(np.int64)
        earned += (self._node_ranks[index] >> TIE_BITS) - 1
        return earned

    def nodes_allowed(self, allowed: Mask | None) -> Nodes:
        """The feasible nodes that are allowed. The same object until it differs."""
        if allowed is not None:
            return self.nodes.where(self.ok & allowed)
        if self._feasible_nodes is None:
            self._feasible_nodes = self.nodes.where(self.ok)
        return self._feasible_nodes

    def undisturbed(self, pod: Pod) -> bool:
        """Whether nothing changed since the last pod but the pods on a few nodes, which can be repaired one by one.

        PreFilter need not run then, because its result would be the same. Without PreFilter plugins any number of
        nodes may have changed.
        """
        nodes = self.nodes
        if (
            not self._calm
            or self._position < 0
            or self._node_version != nodes.version
            or (self.pre_filters and nodes.log.position - self._position > MAX_SCALAR_REPAIRS)
        ):
            return False
        for part in self.token_filters:  # noqa: SIM110 (a generator would cost as much as the rest of this)
            if not part.holds(pod):
                return False
        return True

    def rebuild(self, context: PlannedPod) -> None:
        state, pod = context
        nodes = self.nodes
        size = self._size = nodes.high
        view = self.profile.static_answers.view(self._node_plugins, state, pod)
        self._node_ok = view.ok
        self._open_count = view.open
        # If node objects rule out most nodes, only the others are evaluated.
        self._open: Slots | None = view.slots if view.open * 2 < size else None
        self._node_ranks = view.ranks(self.profile.ties.noise, self.profile.rank_type)
        self._handicap = self.profile.ties.handicap
        self.normalized = tuple([Normalized(*part) for part in view.normalized])
        earned = self._evaluate_all(state, pod)
        for part in self.token_filters:
            part.forget()
            part.refresh(state, pod, nodes.everything(), size)
        self._combine(earned, self._all_ok())

    def _evaluate_all(self, state: CycleState, pod: Pod) -> Ranks:
        """The scores of scope node+pods for all nodes but those that the node object rules out."""
        open_ = self._open
        if open_ is None:
            self._pods_ok, scores = self._evaluate(state, pod, self.nodes.everything())
            return scores.astype(self.profile.rank_type)
        self._pods_ok = np.zeros(self._size, dtype=np.bool_)
        earned: Ranks = np.zeros(self._size, dtype=self.profile.rank_type)
        self._pods_ok[open_], earned[open_] = self._evaluate(state, pod, self.nodes.subset(open_, fleeting=True))
        return earned

    def _evaluate(self, state: CycleState, pod: Pod, nodes: Nodes) -> tuple[Mask, Raw]:
        """Filters and scores of scope node+pods, for some nodes."""
        passing: Mask | None = None
        for plugin in self._pod_filters:
            mask = passing_nodes(plugin, state, pod, nodes)
            passing = mask if passing is None else passing & mask
        if passing is None:
            passing = np.ones(len(nodes), dtype=np.bool_)
        feasible = passing & self._node_ok[nodes.index] if self._pod_scores.needs_feasible else None
        earned = self._pod_scores.total(state, pod, nodes, feasible)
        return passing, np.zeros(len(nodes), dtype=np.int64) if earned is None else earned

    def check_tokens(self, state: CycleState, pod: Pod) -> None:
        """Run the token filters whose token changed, unless `refresh` will rebuild the plan."""
        if not self.token_filters or self._position < 0 or self._node_version != self.nodes.version:
            return
        position = self._position
        self.discard()  # Until all is combined: an exception leads to a rebuild.
        stale = False
        for part in self.token_filters:
            stale |= part.refresh(state, pod, self.nodes.everything(), self._size)
        if stale:
            restless = {part.plugin.name for part in self.token_filters if part.restless}
            if restless:
                self._restless |= restless
                self.rules_version = -1
            ok = self._all_ok()
            self._combine(self._earned(state, pod, ok), ok)
        self._position = position

    def _all_ok(self) -> Mask:
        """Feasibility of all slots from its parts."""
        ok = self._node_ok & self._pods_ok
        for part in self.token_filters:
            ok &= part.ok
        return ok

    def _combine(self, earned: Ranks, ok: Mask) -> None:
        """Ranks of all slots from their parts."""
        self.ok = ok
        self.feasible = int(np.count_nonzero(ok))
        # The part of ranks that does not depend on pods. Shared by plans where possible, which keeps it in the
        # processor's caches.
        self._offset: Ranks = self._node_ranks
        for scorer in self.normalized:
            self._offset = self._offset + (scorer.spread(ok) << TIE_BITS).astype(self._node_ranks.dtype)
        self.key: Ranks = earned << TIE_BITS
        self.key += self._offset
        self.key -= self._handicap[: self._size]
        self.key *= ok
        self._feasible_nodes = None

    def _earned(self, state: CycleState, pod: Pod, ok: Mask) -> Ranks:
        """The scores of scope node+pods for feasible nodes: taken from the ranks, or computed for nodes without one."""
        earned: Ranks = (self.key - self._offset + TIE_MASK) >> TIE_BITS
        missing = np.flatnonzero(ok & (self.key == 0))
        if len(missing):
            earned[missing] = self._evaluate(state, pod, self.nodes.subset(missing, fleeting=True))[1]
        return earned

    def repair_many(self, changed: Slots, context: PlannedPod) -> None:
        state, pod = context
        nodes = self.nodes.subset(changed, fleeting=True)
        ok, earned = self._evaluate(state, pod, nodes)
        if self.token_filters:
            self._pods_ok[changed] = ok
            for part in self.token_filters:
                part.update(state, pod, nodes)
                ok = ok & part.ok.take(changed)
        ranks: Ranks = earned.astype(self.key.dtype, copy=False) << TIE_BITS
        ranks += self._offset.take(changed)
        ranks -= self._handicap.take(changed)
        rejects = b"\0" in ok.tobytes()  # The fastest test of a short mask for a false value.
        if rejects:
            ranks *= ok
        self.key[changed] = ranks
        if rejects or self.feasible < self._open_count:
            flipped = (self.ok.take(changed) != ok).nonzero()[0]
            if len(flipped):
                self._flip(state, pod, changed[flipped], ok[flipped])

    def changed_slots(self, position: int) -> Slots:
        """Nodes that changed, without those that the node object rules out."""
        changed, open_ = self._log.changed, self._open
        if open_ is not None:
            return open_.take((changed.take(open_) >= position).nonzero()[0])
        mask = changed[: self._size] >= position
        if self._open_count < self._size:
            mask &= self._node_ok
        return mask.nonzero()[0]

    def repair_one(self, slot: int, context: PlannedPod) -> None:
        # The sums and checks stand here instead of in functions of their own: most cycles repair just one slot.
        if not self._node_ok.item(slot):
            return
        state, pod = context
        ok = True
        for check in self._bind_slots(pod) if self._slot_filters is None else self._slot_filters:
            if check(slot) is not None:
                ok = False
                break
        for plugin in self._unbound_filters:
            ok = ok and passes_filter(plugin, state, pod, self._info(slot))
        if self.token_filters:
            self._pods_ok[slot] = ok
            for part in self.token_filters:
                ok = part.update_one(state, pod, self.nodes, slot) and ok
        if ok:
            earned = 0
            for score, weight in self._slot_scorers:
                earned += weight * score(slot)
            for plugin, weight in self._unbound_scorers:
                earned += weight * score_of(plugin, state, pod, self._info(slot))
            self.key[slot] = (earned << TIE_BITS) + self._offset.item(slot) - self._handicap.item(slot)
        else:
            self.key[slot] = 0
        if ok == self.ok.item(slot):
            return
        if self.normalized:
            self._flip(state, pod, np.array([slot]), np.array([ok]))
        else:
            self.ok[slot] = ok
            self.feasible += 1 if ok else -1
            self._feasible_nodes = None

    def _info(self, slot: int) -> NodeInfo:
        info = self.nodes.infos[slot]
        assert info is not None
        return info

    def _flip(self, state: CycleState, pod: Pod, slots: NDArray[np.intp], joins: Mask) -> None:
        """Record nodes that became feasible or infeasible. If that changes a normalisation, all ranks are made anew."""
        self.ok[slots] = joins
        self.feasible += 2 * int(np.count_nonzero(joins)) - len(slots)
        self._feasible_nodes = None
        if self.normalized and any(scorer.moved_by(slots, joins) for scorer in self.normalized):
            self._combine(self._earned(state, pod, self.ok), self.ok)
