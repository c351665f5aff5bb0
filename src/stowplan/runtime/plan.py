"""The fast pass: what was found out about a template is kept, and only what changed is asked again.

For each template a plan holds, by slot, whether the node passes and what it scores, as far as that depends on the node
alone; the next pod of the template pays for the nodes that changed since, one argmax, and whatever plugins look at
more than one node at a time. `Survey` is the definition of what must come out.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import Code, CycleState, Mask, NodeInfo, Nodes, Plugin, Pod, Status
from stowplan.runtime.normalizing import NORMALIZERS, Raw
from stowplan.runtime.outcomes import failed_at
from stowplan.runtime.ties import TIE_BITS

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile

Ints = NDArray[np.int64]

FEW = 16
"""Up to so many changed nodes the plain-int form is cheaper than the vector form."""


class Weighted(NamedTuple):
    """A score plugin and its weight."""

    plugin: Plugin
    weight: int


class Normalized:
    """A node-scoped plugin whose scores are normalised over the feasible nodes."""

    __slots__ = ("least", "most", "plugin", "raw", "share", "weight")

    def __init__(self, plugin: Plugin, weight: int, raw: Raw) -> None:
        self.plugin = plugin
        self.weight = weight
        self.raw = raw
        self.least: float = 0
        self.most: float = 0
        self.share: Ints = np.zeros(0, dtype=np.int64)
        """Weighted normalised scores by slot, valid where `least` and `most` are those of the feasible nodes."""

    def spread(self, feasible: Mask) -> None:
        """Normalise over these nodes."""
        raw = self.raw[feasible]
        if len(raw):
            self.least, self.most = raw.min(), raw.max()
        assert self.plugin.normalize is not None
        self.share = self.weight * NORMALIZERS[self.plugin.normalize](self.raw, self.least, self.most)

    def moved_by(self, slot: int, joins: bool) -> bool:
        """Whether the normalisation changes when this node joins or leaves the feasible ones."""
        value = self.raw[slot]
        if joins:
            return bool(value < self.least or value > self.most)
        return bool(value in (self.least, self.most))


class Plan:
    """Everything remembered about the pods of one template in one profile."""

    def __init__(self, profile: Profile, pod: Pod) -> None:
        self.profile = profile
        self.table = profile.cluster.nodes
        self._membership = -1
        template = pod.template
        self.pre_filters = [p for p in profile.pre_filters if p.concerns(template) and not p.template_only]
        self.pre_scores = [p for p in profile.pre_scores if p.concerns(template) and not p.template_only]
        self.inert = {p.name for p in profile.filters if not p.concerns(template)}
        self.plain = self._settle_pre_filter(profile, pod)
        """Whether such pods are better judged without a plan, because PreFilter names the few nodes to look at."""
        active = [p for p in profile.filters if p.name not in self.inert]
        self.node_filters = [p for p in active if p.scope == "node"]
        self.pod_filters = [p for p in active if p.scope == "node+pods"]
        cluster_filters = [p for p in active if p.scope == "cluster"]
        self.token_filters = [p for p in cluster_filters if p.filter_token(pod) is not None]
        self.live_filters = [p for p in cluster_filters if p not in self.token_filters]
        self._sort_scorers(profile, pod)
        self.capacity = -1
        self.node_position = self.position = 0
        self.tokens: list[Hashable] = []
        self.feasible_nodes: Nodes | None = None

    def _settle_pre_filter(self, profile: Profile, pod: Pod) -> bool:
        """PreFilter of plugins that look at the template alone, once for all its pods."""
        scratch = CycleState()
        for plugin in profile.pre_filters:
            if plugin.template_only and plugin.name not in self.inert:
                answer = plugin.pre_filter(scratch, pod, self.everything())
                if isinstance(answer, Status) and answer.code == Code.Skip:
                    self.inert.add(plugin.name)
                elif answer is not None:
                    return True
        return False

    def _sort_scorers(self, profile: Profile, pod: Pod) -> None:
        template = pod.template
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
        plain = [s for s in active if s.plugin.normalize is None and not profile.normalizes_itself(s.plugin)]
        self.node_scorers = [s for s in plain if s.plugin.scope == "node"]
        self.pod_scorers = [s for s in plain if s.plugin.scope == "node+pods"]
        self.normalized_scorers = [s for s in active if s.plugin.normalize is not None and s.plugin.scope == "node"]
        known = (*self.node_scorers, *self.pod_scorers, *self.normalized_scorers)
        self.live_scorers = [s for s in active if s not in known]

    def everything(self) -> Nodes:
        """All nodes; the same object while no node comes or goes."""
        if self._membership != self.table.membership:
            self._membership = self.table.membership
            self._everything = self.table.everything()
        return self._everything

    def padded(self, mask: Mask) -> Mask:
        """A mask over all nodes, stretched to the plan's size."""
        if len(mask) == self.capacity:
            return mask
        whole: Mask = np.zeros(self.capacity, dtype=np.bool_)
        whole[: len(mask)] = mask
        return whole

    def nodes_allowed(self, allowed: Mask | None) -> Nodes:
        """The feasible nodes, less those that are not allowed. The same object while nothing about it changes."""
        if allowed is None:
            if self.feasible_nodes is None:
                self.feasible_nodes = self._nodes_where(self.ok)
            return self.feasible_nodes
        return self._nodes_where(self.ok & allowed)

    def _nodes_where(self, mask: Mask) -> Nodes:
        """Over a whole slice with a few holes vectors are cheap; where most nodes drop out, only the rest is looked at."""
        table = self.table
        holes = np.flatnonzero(~mask[: table.high])
        if not len(holes):
            return Nodes(slice(0, table.high), table.high, table.infos)
        if len(holes) * 4 < table.high:
            return Nodes(slice(0, table.high), table.high, table.infos, holes)
        return table.subset(np.flatnonzero(mask))

    # Bringing the plan up to date
    def sync(self, state: CycleState, pod: Pod) -> None:
        """Take in every change of the cluster since the last pod of the template."""
        table = self.table
        if self.capacity != table.capacity or self.node_position != table.node_log.position:
            self._rebuild(state, pod)
            return
        if self.token_filters:
            self._check_tokens(state, pod)
        position = table.log.position
        if position == self.position:
            return
        changed, seen = table.log.since(self.position), self.position
        self.position = position
        if changed is not None and len(changed) <= FEW:
            for slot in set(changed):
                info = table.infos[slot]
                if info is not None:
                    self._update_one(state, pod, slot, info)
        else:
            self._update_many(state, pod, table.log.changed_since(seen))

    def _rebuild(self, state: CycleState, pod: Pod) -> None:
        """Everything anew, since nodes came, went or changed."""
        table, template = self.table, pod.template
        everything = self.everything()
        size = table.capacity
        answers = self.profile.static_answers
        self.capacity, self.node_position, self.position = size, table.node_log.position, table.log.position
        node_ok: Mask = table.alive.copy()
        for plugin in self.node_filters:
            key = (plugin, "filter", plugin.signature(template))
            node_ok &= answers.get(key, partial(plugin.passing_nodes, state, pod))
        self.node_ok = node_ok
        self.node_score: Ints = np.zeros(size, dtype=np.int64)
        for plugin, weight in self.node_scorers:
            self.node_score += weight * self._static_scores(plugin, state, pod)
        self.normalized: list[Normalized] = []
        for plugin, weight in self.normalized_scorers:
            raw = self._static_scores(plugin, state, pod)
            alive = raw[table.alive]
            if len(alive) and alive.min() != alive.max():
                self.normalized.append(Normalized(plugin, weight, raw))
        self.pods_ok: Mask = np.zeros(size, dtype=np.bool_)
        self.base: Ints = np.zeros(size, dtype=np.int64)
        self.token_ok = [np.zeros(size, dtype=np.bool_) for _ in self.token_filters]
        self.tokens = [self._token(plugin, state, pod) for plugin in self.token_filters]
        self._judge(state, pod, everything)
        for plugin, mask in zip(self.token_filters, self.token_ok, strict=True):
            mask[: table.high] = self._passes(plugin, state, pod, everything)
        self._combine()

    def _static_scores(self, plugin: Plugin, state: CycleState, pod: Pod) -> Raw:
        key = (plugin, "score", plugin.signature(pod.template))
        return self.profile.static_answers.get(key, partial(plugin.score_nodes, state, pod))

    def _judge(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Filters and scores that depend on a node and its pods, for some nodes."""
        index = nodes.index
        passing: Mask = np.ones(len(nodes), dtype=np.bool_)
        for plugin in self.pod_filters:
            passing &= plugin.passing_nodes(state, pod, nodes)
        self.pods_ok[index] = passing
        total = self.node_score[index]
        for plugin, weight in self.pod_scorers:
            scores = plugin.score_nodes(state, pod, nodes)
            total = total + (scores if weight == 1 else weight * scores)
        self.base[index] = total

    def _passes(self, plugin: Plugin, state: CycleState, pod: Pod, nodes: Nodes) -> Mask:
        if plugin.name in state.skip_filter:
            return np.ones(len(nodes), dtype=np.bool_)
        return plugin.passing_nodes(state, pod, nodes)

    def _token(self, plugin: Plugin, state: CycleState, pod: Pod) -> Hashable:
        return None if plugin.name in state.skip_filter else plugin.filter_token(pod)

    def _check_tokens(self, state: CycleState, pod: Pod) -> None:
        stale = False
        for i, plugin in enumerate(self.token_filters):
            token = self._token(plugin, state, pod)
            if token != self.tokens[i]:
                self.tokens[i] = token
                self.token_ok[i][: self.table.high] = self._passes(plugin, state, pod, self.everything())
                stale = True
        if stale:
            self._combine()

    def _combine(self) -> None:
        """Feasibility, totals and ranks of all slots from their parts."""
        ok = self.node_ok & self.pods_ok
        for mask in self.token_ok:
            ok &= mask
        self.ok = ok
        self.feasible = int(np.count_nonzero(ok))
        self.total = self.base
        if self.normalized:
            self.total = self.base.copy()
            for part in self.normalized:
                part.spread(ok)
                self.total += part.share
        self.key: Ints = (self.total + 1) << TIE_BITS
        self.key += self.profile.ties.noise
        self.key *= ok
        self.feasible_nodes = None

    def _update_many(self, state: CycleState, pod: Pod, changed: NDArray[np.intp]) -> None:
        nodes = self.table.subset(changed)
        self._judge(state, pod, nodes)
        for plugin, mask in zip(self.token_filters, self.token_ok, strict=True):
            mask[changed] = self._passes(plugin, state, pod, nodes)
        if self.normalized:
            self._combine()
            return
        ok = self.node_ok[changed] & self.pods_ok[changed]
        for mask in self.token_ok:
            ok &= mask[changed]
        before = self.ok[changed]
        if not np.array_equal(before, ok):
            self.feasible += int(np.count_nonzero(ok)) - int(np.count_nonzero(before))
            self.ok[changed] = ok
            self.feasible_nodes = None
        ranks = (self.base[changed] + 1) << TIE_BITS
        ranks += self.profile.ties.noise[changed]
        ranks *= ok
        self.key[changed] = ranks

    def _update_one(self, state: CycleState, pod: Pod, slot: int, info: NodeInfo) -> None:
        passing = True
        for plugin in self.pod_filters:
            status = plugin.filter(state, pod, info)
            if status is not None and status.code:
                if not status.rejected:
                    raise failed_at("filter", plugin.name, status.message)
                passing = False
                break
        self.pods_ok[slot] = passing
        total = self.node_score.item(slot)
        for plugin, weight in self.pod_scorers:
            score = plugin.score(state, pod, info)
            if isinstance(score, Status):
                raise failed_at("score", plugin.name, score.message)
            total += weight * int(score)
        self.base[slot] = total
        ok = passing and self.node_ok.item(slot)
        for plugin, mask in zip(self.token_filters, self.token_ok, strict=True):
            allowed = plugin.name in state.skip_filter or plugin.filter(state, pod, info) is None
            mask[slot] = allowed
            ok = ok and allowed
        if ok != self.ok.item(slot):
            self._flip(slot, ok)
        if self.normalized:
            total += sum(part.share.item(slot) for part in self.normalized)
            self.total[slot] = total
        self.key[slot] = ((total + 1) << TIE_BITS) + self.profile.ties.noise.item(slot) if ok else 0

    def _flip(self, slot: int, ok: bool) -> None:
        """A node became feasible or stopped being so."""
        self.ok[slot] = ok
        self.feasible += 1 if ok else -1
        self.feasible_nodes = None
        if any([part.moved_by(slot, ok) for part in self.normalized]):
            self._combine()
