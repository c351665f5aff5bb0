"""Filtering of all nodes with every status: the definition of a decision.

Explanations, the reasons of pods that fit no node, and checks of the other sources of answers come from a diagnosis.

Upstream: pkg/scheduler/framework/types.go (Diagnosis), schedule_one.go (findNodesThatFitPod)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.kept import MAX_SCALAR_REPAIRS
from stowplan.framework import Code, CycleState, Mask, NodeInfo, Nodes, Pod, Scores, Slots, Status
from stowplan.framework.status import merge_rejections
from stowplan.runtime.decide.filtering import (
    NO_OBJECTION,
    OutOfTreeAnswers,
    PreFiltered,
    absent_status,
    filter_node,
    run_pre_filters,
)
from stowplan.runtime.decide.nominated_pods import NominatedPodsFilter
from stowplan.runtime.decide.scoring import PluginScores, score_nodes
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError, failed_at

if TYPE_CHECKING:
    from stowplan.framework import Plugin
    from stowplan.runtime.decide.sampling import Sampler
    from stowplan.runtime.profile.profile import Profile


EXTENDER = "Extender"
"""The plugin name of rejections by extenders."""


def no_nodes() -> CycleError:
    return CycleError("no nodes available to schedule pods", code=Code.UnschedulableAndUnresolvable)


class FunnelStep(NamedTuple):
    """A plugin that rejected nodes, and the number of nodes left after it."""

    plugin: str
    remaining: int


class Diagnosis:
    """The statuses of all nodes for one pod, and the scores of the feasible ones."""

    def __init__(self, profile: Profile, pod: Pod, *, plain: bool = False) -> None:
        self.profile = profile
        self.pod = pod
        self.plain = plain
        """Whether later stages, such as the search for victims, do without kept answers, too."""
        self.state = CycleState()
        self.pre_filtered: PreFiltered = NO_OBJECTION
        self.statuses: list[Status] = []
        self.verdicts: NDArray[np.intp] = np.full(profile.cluster.nodes.high, -1, dtype=np.intp)
        """By slot: -1 for a node that passes or was not filtered, else an index into `statuses`."""
        self.examined: Slots = np.zeros(0, dtype=np.intp)
        self.feasible: Slots = np.zeros(0, dtype=np.intp)
        self.scores: list[PluginScores] = []
        self.total: Scores = np.zeros(0, dtype=np.int64)
        """By position in `feasible`."""
        self._known: dict[Status, int] = {}
        self._answers: OutOfTreeAnswers = {}
        self.on_nominated_node = False
        """Whether only the pod's nominated node was filtered, and passed."""
        self.left_out_by_extenders = False

    @property
    def node_count(self) -> int:
        """The number of nodes that the pod is tried on, which messages name."""
        return len(self.profile.cluster.nodes)

    @property
    def absent(self) -> Status | None:
        """The status of nodes that were not filtered."""
        if self.pre_filtered.status is not None:
            return self.pre_filtered.status
        if self.pre_filtered.names is not None:
            return absent_status(self.pre_filtered.restricting)
        return None

    def run(self) -> Diagnosis:
        """Run PreFilter and Filter. `score` is separate, because many callers need no scores."""
        nodes = self.profile.cluster.nodes
        if not len(nodes):
            raise no_nodes()
        return self.examine(run_pre_filters(self.profile.pre_filters, self.state, self.pod, nodes.everything()))

    def resume(self, state: CycleState, pre_filtered: PreFiltered, answers: OutOfTreeAnswers) -> Diagnosis:
        """Take over a cycle after PreFilter, and perhaps after out-of-tree filters, which run once a cycle.

        `state` lists the plugins to skip; plugins after the one that rejected the pod in PreFilter are taken off it.
        """
        self.state = state
        self._answers = answers
        refusal = pre_filtered.status
        if refusal is not None and refusal.code == Code.UnschedulableAndUnresolvable:
            order = [plugin.name for plugin in self.profile.pre_filters]
            refusing = {refusal.plugin, *pre_filtered.restricting}
            last = max((i for i, name in enumerate(order) if name in refusing), default=len(order))
            state.skip_filter -= set(order[last + 1 :])
        return self

    def examine(self, pre_filtered: PreFiltered) -> Diagnosis:
        """Filter the nominated node of the pod; if the pod has none or does not fit there, all nodes."""
        self.pre_filtered = pre_filtered
        if self.pre_filtered.status is not None:
            return self
        if self.pod.nominated_node_name and self.try_nominated():
            self.on_nominated_node = True
            return self
        return self.filter_all_nodes()

    def filter_all_nodes(self) -> Diagnosis:
        """Filter all nodes that PreFilter left."""
        if self.on_nominated_node:
            # Rejected by an extender, which is called again.
            self.verdicts[self.examined] = -1
            self.on_nominated_node = False
        candidates = self.candidates()
        self.examined = candidates.slots()
        if len(self.examined) <= MAX_SCALAR_REPAIRS and not self._answers:
            self._filter_one_by_one()
        else:
            self._filter_vectors(candidates)
            self._recheck_nominated()
        self.feasible = self.examined[self.verdicts[self.examined] < 0]
        return self

    def candidates(self) -> Nodes:
        """The nodes that PreFilter left."""
        nodes = self.profile.cluster.nodes
        if self.pre_filtered.names is None:
            return nodes.everything()
        slots = sorted(nodes.slot_of[name] for name in self.pre_filtered.names if name in nodes.slot_of)
        return nodes.subset(np.array(slots, dtype=np.intp))

    def funnel(self) -> list[FunnelStep]:
        """The number of nodes left after each step that rejected nodes."""
        remaining = len(self.profile.cluster.nodes)
        stages = []
        if self.pre_filtered is not NO_OBJECTION:
            remaining = len(self.examined)
            stages.append(FunnelStep("PreFilter", remaining))
        rejected: Counter[str] = Counter()
        for status, count in zip(self.statuses, np.bincount(self.verdicts[self.verdicts >= 0]).tolist(), strict=False):
            rejected[status.plugin] += count
        for plugin in self.profile.filters:
            if rejected[plugin.name]:
                remaining -= rejected[plugin.name]
                stages.append(FunnelStep(plugin.name, remaining))
        return stages

    def rejectors(self) -> tuple[set[str], set[str]]:
        """The plugins that rejected the pod or a node: (UnschedulablePlugins, PendingPlugins)."""
        statuses = list(self.statuses)
        if self.pre_filtered.status is not None:
            statuses.append(self.pre_filtered.status)
        pending = {status.plugin for status in statuses if status.code == Code.Pending}
        others = {status.plugin for status in statuses if status.code != Code.Pending} | self.pre_filtered.restricting
        if self.left_out_by_extenders:
            others.add(EXTENDER)
        return others - {""}, pending - {""}

    def sample(self, sampler: Sampler) -> int:
        """Keep the feasible nodes that a search which stops early finds; returns the number of nodes it filters."""
        self.feasible, evaluated = sampler.pick(self.feasible, len(self.examined))
        return evaluated

    def score(self) -> Diagnosis:
        self.scores, self.total = score_nodes(self.profile, self.state, self.pod, self.feasible)
        return self

    def status_of(self, slot: int) -> Status | None:
        verdict = int(self.verdicts[slot])
        return None if verdict < 0 else self.statuses[verdict]

    def node_statuses(self) -> Mapping[str, Status]:
        return NodeStatuses(self)

    def revised(self, changed: Mapping[int, Status]) -> Diagnosis:
        """A copy with other statuses of some rejected nodes."""
        copy = Diagnosis.__new__(Diagnosis)
        vars(copy).update(vars(self))
        copy.verdicts, copy.statuses, copy._known = self.verdicts.copy(), list(self.statuses), dict(self._known)
        for slot, status in changed.items():
            copy.reject(slot, status)
        copy._drop_unused_statuses()
        return copy

    def _drop_unused_statuses(self) -> None:
        """Statuses that no node has any more would count as rejections."""
        used = np.bincount(self.verdicts[self.verdicts >= 0], minlength=len(self.statuses)) > 0
        if not used.all():
            numbers = np.append(np.cumsum(used) - 1, -1)  # The last entry is for slots without a verdict, -1.
            self.verdicts = numbers.take(self.verdicts)
            self.statuses = [status for status, is_used in zip(self.statuses, used.tolist(), strict=True) if is_used]
            self._known = {status: number for number, status in enumerate(self.statuses)}

    def reject(self, slot: int, status: Status) -> None:
        self.verdicts[slot] = self._index(status)

    def _index(self, status: Status) -> int:
        index = self._known.get(status)
        if index is None:
            index = self._known[status] = len(self.statuses)
            self.statuses.append(status)
        return index

    def try_nominated(self) -> bool:
        """Whether the pod fits its nominated node, which is filtered."""
        info = self.profile.cluster.nodes.get(self.pod.nominated_node_name)
        if info is None:
            return False
        status = filter_node(self.profile, self.state, self.pod, info)
        self.examined = np.array([info.slot], dtype=np.intp)
        if status is None:
            self.feasible = self.examined
            return True
        self.reject(info.slot, status)
        return False

    def _filter_one_by_one(self) -> None:
        for slot in self.examined.tolist():
            info = self.profile.cluster.nodes.infos[slot]
            status = filter_node(self.profile, self.state, self.pod, info) if info is not None else None
            if status is not None:
                self.reject(slot, status)

    def _filter_vectors(self, candidates: Nodes) -> None:
        open_ = np.ones(len(candidates), dtype=np.bool_)
        if candidates.holes is not None:
            open_[candidates.holes] = False
        remaining = candidates.meant
        verdicts = np.full(len(candidates), -1, dtype=np.intp)
        for plugin in self.profile.filters:
            if plugin.name in self.state.skip_filter or not remaining:
                continue
            remaining -= self._run_filter(plugin, candidates, open_, verdicts)
        self.verdicts[candidates.index] = verdicts

    def _run_filter(self, plugin: Plugin, nodes: Nodes, open_: NDArray[np.bool_], verdicts: NDArray[np.intp]) -> int:
        """Record a plugin's rejections of open nodes, with merged reasons; returns their number."""
        answers = self._answers_of(plugin, nodes, open_)
        if not answers:
            return 0
        groups: list[tuple[Mask, list[Status]]] = []
        rejected = np.zeros(len(nodes), dtype=np.bool_)
        for mask, status in answers:
            hit = mask & open_
            if not hit.any():
                continue
            if (hit & rejected).any():
                groups = [part for group in groups for part in _split(*group, hit, status)]
                hit &= ~rejected
                if not hit.any():
                    continue
            groups.append((hit, [status]))
            rejected |= hit
        for mask, parts in groups:
            np.putmask(verdicts, mask, self._rejection(plugin, merge_rejections(parts)))
        open_ &= ~rejected
        return int(np.count_nonzero(rejected))

    def _rejection(self, plugin: Plugin, status: Status) -> int:
        """The index of a rejection; any other status ends the cycle with an error."""
        status = status.with_plugin(plugin.name)
        if not status.rejected:
            raise failed_at("filter", plugin.name, status.message)
        return self._index(status)

    def _answers_of(self, plugin: Plugin, nodes: Nodes, open_: NDArray[np.bool_]) -> list[tuple[Mask, Status]]:
        """A plugin's rejections as masks over the nodes. An out-of-tree plugin filters open nodes only, each once."""
        if not isinstance(plugin, OutOfTreePlugin):
            return list(plugin.filter_nodes(self.state, self.pod, nodes))
        table = self.profile.cluster.nodes
        segments = [self._answers[plugin.name]] if plugin.name in self._answers else []
        missing = np.zeros(table.high, dtype=np.bool_)
        missing[nodes.slots_at(np.flatnonzero(open_))] = True
        for filtered, _ in segments:
            missing[filtered.slots()] = False
        if missing.any():
            more = table.subset(np.flatnonzero(missing))
            segments.append((more, list(plugin.filter_nodes(self.state, self.pod, more))))
        position_of = np.zeros(table.high, dtype=np.intp)
        position_of[nodes.index] = np.arange(len(nodes))
        widened = []
        for filtered, answers in segments:
            for mask, status in answers:
                whole = np.zeros(len(nodes), dtype=np.bool_)
                whole[position_of[filtered.slots()[mask]]] = True
                widened.append((whole, status))
        return widened

    def _recheck_nominated(self) -> None:
        """Filter nodes with nominated pods again, with those pods on them."""
        if not self.profile.nominator.by_node:
            return
        nominated = NominatedPodsFilter(self.profile, self.state, self.pod, remember=not self.plain)
        mask = np.zeros(len(self.verdicts), dtype=np.bool_)
        mask[self.examined] = True
        examined = mask.tobytes()
        latest: Status | None = None
        index = -1
        for info in nominated.infos():
            slot = info.slot
            has_rivals, status = nominated.filter(info) if examined[slot] else (False, None)
            if not has_rivals:
                continue
            if status is not latest:
                # Nearly all nodes share one status, and hashing it costs as much as all else here.
                latest, index = status, -1 if status is None else self._index(status)
            self.verdicts[slot] = index


def _split(known: Mask, parts: list[Status], hit: Mask, status: Status) -> Iterator[tuple[Mask, list[Status]]]:
    """A group of nodes with the same reasons, some of which get one more."""
    both = known & hit
    rest = known & ~hit
    if not both.any():
        yield known, parts
    elif rest.any():
        yield both, [*parts, status]
        yield rest, parts
    else:
        parts.append(status)
        yield known, parts


class NodeStatuses(Mapping[str, Status]):
    """Statuses of rejected nodes by name; nodes that PreFilter left out get the status that they share."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis

    def __getitem__(self, name: str) -> Status:
        slot = self.diagnosis.profile.cluster.nodes.slot_of[name]
        status = self.diagnosis.status_of(slot) or self.diagnosis.absent
        if status is None:
            raise KeyError(name)
        return status

    def __iter__(self) -> Iterator[str]:
        infos: list[NodeInfo | None] = self.diagnosis.profile.cluster.nodes.infos
        for info in infos:
            if info is not None and (self.diagnosis.verdicts[info.slot] >= 0 or self.diagnosis.absent is not None):
                yield info.name

    def __len__(self) -> int:
        return sum(1 for _ in self)
