"""The fast pass: what was found out about a template is kept, and only what changed is asked again.

For each template a plan holds, by slot, whether the node passes and what it scores, as far as that depends on the node
alone; the next pod of the template pays for the nodes that changed since, one argmax, and whatever plugins look at
more than one node at a time. `Survey` is the definition of what must come out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import Code, CycleState, Mask, NodeInfo, Nodes, Plugin, Pod, Status
from stowplan.runtime.normalizing import Raw
from stowplan.runtime.outcomes import failed_at
from stowplan.runtime.parts import Ints, Normalized, TokenFilter, Weighted, passes_filter, score_of
from stowplan.runtime.ties import TIE_BITS

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile

FEW = 16
"""Up to so many changed nodes the plain-int form is cheaper than the vector form."""


class Plan:
    """Everything remembered about the pods of one template in one profile."""

    def __init__(self, profile: Profile, pod: Pod) -> None:
        self.profile = profile
        self.table = profile.cluster.nodes
        template = pod.template
        self._membership = -1
        self._restless: set[str] = set()
        self._inert = {p.name for p in profile.filters if not p.concerns(template)}
        self.plain = self._settle_pre_filter(pod)
        """Whether such pods are better judged without a plan, because PreFilter names the few nodes to look at."""
        active = [p for p in profile.filters if p.name not in self._inert]
        self._node_filters = [p for p in active if p.scope == "node"]
        self._pod_filters = [p for p in active if p.scope == "node+pods"]
        self._sort_scorers(pod)
        bound = [p.slot_filter(template) for p in self._pod_filters]
        self._slot_filters = [check for check in bound if check is not None]
        self._unbound_filters = [p for p, check in zip(self._pod_filters, bound, strict=True) if check is None]
        scorers = [(s.plugin.slot_scorer(template), s) for s in self._pod_scorers]
        self._slot_scorers = [(score, s.weight) for score, s in scorers if score is not None]
        self._unbound_scorers = [s for score, s in scorers if score is None]
        self.rules_version = -1
        self._capacity = -1
        self._node_position = self._position = 0
        self._feasible_nodes: Nodes | None = None
        self.normalized: list[Normalized] = []

    def _settle_pre_filter(self, pod: Pod) -> bool:
        """PreFilter of plugins that look at the template alone, once for all its pods."""
        scratch = CycleState()
        for plugin in self.profile.pre_filters:
            if plugin.template_only and plugin.name not in self._inert:
                answer = plugin.pre_filter(scratch, pod, self.everything())
                if isinstance(answer, Status) and answer.code == Code.Skip:
                    self._inert.add(plugin.name)
                elif answer is not None:
                    return True
        return False

    def _sort_scorers(self, pod: Pod) -> None:
        template, profile = pod.template, self.profile
        skipped = {p.name for p in profile.pre_scores if not p.concerns(template)}
        scratch = CycleState()
        for plugin in profile.pre_scores:
            if plugin.template_only and plugin.name not in skipped:
                status = plugin.pre_score(scratch, pod, self.everything())
                if status is not None and status.code == Code.Skip:
                    skipped.add(plugin.name)
                elif status is not None and status.code:
                    raise failed_at("preScore", plugin.name, status.message)
        active = [Weighted(p, w) for p, w in profile.scorers if p.name not in skipped and p.concerns(template)]
        foldable = [s for s in active if not profile.scores_by_cycle(s.plugin)]
        plain = [s for s in foldable if s.plugin.normalize is None]
        self._node_scorers = [s for s in plain if s.plugin.scope == "node"]
        self._pod_scorers = [s for s in plain if s.plugin.scope == "node+pods"]
        self._normalized_scorers = [s for s in foldable if s.plugin.normalize is not None and s.plugin.scope == "node"]
        known = (*self._node_scorers, *self._pod_scorers, *self._normalized_scorers)
        self._other_scorers = [s for s in active if s not in known]

    def apply_rules(self, pod: Pod) -> None:
        """Find out which plugins of cluster scope have something to say about such pods at present."""
        profile, template = self.profile, pod.template
        self.rules_version = profile.cluster.selection.rules_version
        nothing = {p.name for p in profile.cluster_plugins if not p.concerns(template)} | self._inert
        self.skipped = nothing | {p.name for p in profile.cluster_plugins if p.idle_filter(pod)}
        self.pre_filters = [p for p in profile.pre_filters if not p.template_only and p.name not in self.skipped]
        filters = [p for p in profile.filters if p.scope == "cluster" and p.name not in self.skipped]
        calm = [p for p in filters if p.name not in self._restless and p.filter_token(pod) is not None]
        self.token_filters = [TokenFilter(p) for p in calm]
        self.live_filters = [p for p in filters if p not in calm]
        unscored = nothing | {p.name for p in profile.cluster_plugins if p.idle_score(pod)}
        self.live_scorers = [s for s in self._other_scorers if s.plugin.name not in unscored]
        self.pre_scores = [p for p in profile.pre_scores if not p.template_only and p.name not in unscored]
        self._capacity = -1

    def everything(self) -> Nodes:
        """All nodes; the same object while no node comes or goes."""
        if self._membership != self.table.membership:
            self._membership = self.table.membership
            self._everything = self.table.everything()
        return self._everything

    def nodes_allowed(self, allowed: Mask | None) -> Nodes:
        """The feasible nodes, less those that are not allowed. The same object while nothing about it changes."""
        if allowed is not None:
            return self._nodes_where(self.ok & allowed)
        if self._feasible_nodes is None:
            self._feasible_nodes = self._nodes_where(self.ok)
        return self._feasible_nodes

    def _nodes_where(self, mask: Mask) -> Nodes:
        """Over a whole slice with few holes vectors are cheap; where most nodes drop out, only the rest is looked at."""
        table = self.table
        holes = np.flatnonzero(~mask[: table.high])
        if not len(holes):
            return Nodes(slice(0, table.high), table.high, table.infos)
        if len(holes) * 4 < table.high:
            return Nodes(slice(0, table.high), table.high, table.infos, holes)
        return table.subset(np.flatnonzero(mask))

    def sync(self, state: CycleState, pod: Pod) -> None:
        """Take in every change of the cluster since the last pod of the template."""
        table = self.table
        if self._capacity != table.capacity or self._node_position != table.node_log.position:
            self._rebuild(state, pod)
            return
        if self.token_filters:
            self._check_tokens(state, pod)
        changed = table.log.since(self._position)
        if changed is not None and len(changed) <= FEW:
            self._position += len(changed)
            for slot in set(changed) if len(changed) > 1 else changed:
                info = table.infos[slot]
                if info is not None:
                    self._update_one(state, pod, slot, info)
        else:
            slots = table.log.changed_since(self._position)
            self._position = table.log.position
            self._update_many(state, pod, slots)

    def _rebuild(self, state: CycleState, pod: Pod) -> None:
        """Everything anew, since nodes came, went or changed."""
        table, template = self.table, pod.template
        everything = self.everything()
        size = self._capacity = table.capacity
        self._node_position, self._position = table.node_log.position, table.log.position
        answers = self.profile.static_answers
        self._node_ok: Mask = table.alive.copy()
        for plugin in self._node_filters:
            key = (plugin, "filter", plugin.signature(template))
            self._node_ok &= answers.get(key, partial(plugin.passing_nodes, state, pod))
        self._node_score: Ints = np.zeros(size, dtype=np.int64)
        for plugin, weight in self._node_scorers:
            self._node_score += weight * self._static_scores(plugin, state, pod)
        self.normalized = []
        for plugin, weight in self._normalized_scorers:
            raw = self._static_scores(plugin, state, pod)
            alive = raw[: table.high] if everything.holes is None else raw[table.alive]
            if len(alive) and alive.min() != alive.max():
                self.normalized.append(Normalized(plugin, weight, raw))
        self._pods_ok: Mask = np.zeros(size, dtype=np.bool_)
        self.base: Ints = np.zeros(size, dtype=np.int64)
        self._judge(state, pod, everything)
        for part in self.token_filters:
            part.refresh(state, pod, everything, size)
        self._combine()

    def _static_scores(self, plugin: Plugin, state: CycleState, pod: Pod) -> Raw:
        key = (plugin, "score", plugin.signature(pod.template))
        return self.profile.static_answers.get(key, partial(plugin.score_nodes, state, pod))

    def _judge(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Filters and scores that depend on a node and its pods, for some nodes."""
        index = nodes.index
        passing: Mask | None = None
        for plugin in self._pod_filters:
            mask = plugin.passing_nodes(state, pod, nodes)
            passing = mask if passing is None else passing & mask
        self._pods_ok[index] = True if passing is None else passing
        total = self._node_score[index]
        for plugin, weight in self._pod_scorers:
            scores = plugin.score_nodes(state, pod, nodes)
            total = total + (scores if weight == 1 else weight * scores)
        self.base[index] = total

    def _check_tokens(self, state: CycleState, pod: Pod) -> None:
        stale = False
        for part in self.token_filters:
            stale |= part.refresh(state, pod, self.everything(), self._capacity)
        if stale:
            restless = {part.plugin.name for part in self.token_filters if part.restless}
            if restless:
                self._restless |= restless
                self.rules_version = -1
            self._combine()

    def _combine(self) -> None:
        """Feasibility, totals and ranks of all slots from their parts."""
        ok = self._node_ok & self._pods_ok
        for part in self.token_filters:
            ok &= part.ok
        self.ok = ok
        self.feasible = int(np.count_nonzero(ok))
        self.total = self.base
        if self.normalized:
            self.total = self.base.copy()
            for scorer in self.normalized:
                scorer.spread(ok)
                self.total += scorer.share
        self._noise = self.profile.ties.noise
        self.key: Ints = self.total + 1
        self.key <<= TIE_BITS
        self.key += self._noise
        self.key *= ok
        self._feasible_nodes = None

    def _update_many(self, state: CycleState, pod: Pod, changed: NDArray[np.intp]) -> None:
        nodes = self.table.subset(changed)
        self._judge(state, pod, nodes)
        for part in self.token_filters:
            part.update(state, pod, nodes)
        ok = self._node_ok[changed] & self._pods_ok[changed]
        for part in self.token_filters:
            ok &= part.ok[changed]
        flipped = ok != self.ok[changed]
        if flipped.any() and self._flip(changed[flipped], ok[flipped]):
            return
        total = self.base[changed]
        if self.normalized:
            for scorer in self.normalized:
                total += scorer.share[changed]
            self.total[changed] = total
        total += 1
        total <<= TIE_BITS
        total += self._noise[changed]
        total *= ok
        self.key[changed] = total

    def _update_one(self, state: CycleState, pod: Pod, slot: int, info: NodeInfo) -> None:
        passing = True
        for check in self._slot_filters:
            if check(slot) is not None:
                passing = False
                break
        for plugin in self._unbound_filters:
            passing = passing and passes_filter(plugin, state, pod, info)
        self._pods_ok[slot] = passing
        total = self._node_score.item(slot)
        for score, weight in self._slot_scorers:
            total += weight * score(slot)
        for plugin, weight in self._unbound_scorers:
            total += weight * score_of(plugin, state, pod, info)
        self.base[slot] = total
        ok = passing and self._node_ok.item(slot)
        for part in self.token_filters:
            ok = part.update_one(state, pod, info) and ok
        if ok != self.ok.item(slot) and self._flip(np.array([slot]), np.array([ok])):
            return
        if self.normalized:
            total += sum(scorer.share.item(slot) for scorer in self.normalized)
            self.total[slot] = total
        self.key[slot] = ((total + 1) << TIE_BITS) + self._noise.item(slot) if ok else 0

    def _flip(self, slots: NDArray[np.intp], joins: Mask) -> bool:
        """Nodes became feasible or stopped being so; whether that changed so much that all was combined anew."""
        self.ok[slots] = joins
        joined = int(np.count_nonzero(joins))
        self.feasible += 2 * joined - len(slots)
        self._feasible_nodes = None
        if any(scorer.moved_by(slots, joins) for scorer in self.normalized):
            self._combine()
            return True
        return False
