"""The potential victims of preemptors of one priority, as arrays that are kept from search to search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import Column
from stowplan.cache.kept import KeptOnDemand
from stowplan.cache.lru_map import LruMap
from stowplan.framework import NodeInfo, Pod, Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.select_candidate import PRIORITY_OFFSET
from stowplan.runtime.preemption.victims import by_importance, started

if TYPE_CHECKING:
    from stowplan.runtime.preemption.kept_dry_runs import KeptDryRuns
    from stowplan.runtime.profile.profile import Profile

Ints = NDArray[np.int64]

PODS = "pods"
"""The resource of which every pod takes one."""

WEIGHT, START, PROTECTED, AMOUNTS = range(4)
"""Positions in `VictimTable.facts`: a pod's priority, made positive; its start time; whether a budget protects it; and
from there on its request of each resource."""

_MIN_FREE_AMOUNT = -(1 << 62)
"""The lower limit of free amounts, which keeps absurd requests from overflowing."""


_MAX_DEMANDS = 16
"""Sets of demands whose dry runs are kept."""


class VictimRow(NamedTuple):
    """One node's potential victims."""

    info: NodeInfo
    pods: list[Pod]
    """In the order in which they are reprieved: the protected ones first, each group most important first."""
    protected: int
    """The number of pods that a budget protects."""


class VictimTable(KeptOnDemand):
    """Rows by slot, and facts about the pods in them: facts[fact, place in the row, slot], 0 at empty places.

    A row is made when a search comes to its node, and made again when the node or its pods have changed since.
    """

    def __init__(self, profile: Profile, priority: int) -> None:
        super().__init__(profile.cluster.nodes)
        self._budgets = profile.budgets
        self._below = priority
        self._budgets_version = -1
        self.columns: dict[str, tuple[Column, Column]] = {}
        """By resource: the columns allocatable and requested."""
        self.facts: Ints = np.zeros((AMOUNTS, 0, 0), dtype=np.int64)

    @classmethod
    def of(cls, profile: Profile, priority: int) -> VictimTable:
        """The table for preemptors of a priority."""
        return profile.budgets.victim_tables.get_or_make(priority, partial(cls, profile, priority))

    def cover(self, resources: Sequence[str]) -> list[int]:
        """Prepare for a search with these resources; returns their places in `free`, and in facts from AMOUNTS on."""
        table, version = self.nodes, self._budgets.version
        new = [name for name in resources if name not in self.columns]
        if new or version != self._budgets_version:
            # A resource that no node offers any more is dropped.
            self.columns = {
                name: columns for name, columns in self.columns.items() if columns[0].values or name in resources
            }
            for name in new:
                self.columns[name] = (table.allowed_pods, table.pod_count) if name == PODS else table.resource(name)
            self._budgets_version = version
            self.discard()
        self.refresh(None)
        known = list(self.columns)
        return [known.index(name) for name in resources]

    def fill(self, slots: Slots) -> None:
        """Make the rows of some nodes, where they are not known."""
        self.refresh(None)
        missing = self.unknown(slots)
        if len(missing):
            self._fill(missing)
            self.settle(missing)

    def make_row(self, slot: int) -> VictimRow:
        """A row without its facts, which only vector dry runs need."""
        info = self.nodes.infos[slot]
        assert info is not None
        pods, protected = self._budgets.protected_first(by_importance(info.pods.values(), self._below))
        self.rows[slot] = row = VictimRow(info, pods, protected)
        return row

    def rebuild(self, context: None = None) -> None:
        super().rebuild()
        size = self.nodes.capacity
        self.rows: list[VictimRow | None] = [None] * size
        self.count: NDArray[np.intp] = np.zeros(size, dtype=np.intp)
        self.facts = np.zeros((AMOUNTS + len(self.columns), self.facts.shape[1], size), dtype=np.int64)
        self.free: Ints = np.zeros((len(self.columns), size), dtype=np.int64)
        """[resource, slot]: the free amount if all pods of the row were removed."""
        self.dry_runs: LruMap[tuple[Demand, ...], KeptDryRuns] = LruMap(_MAX_DEMANDS)
        """Dry runs made with these rows, by the demanded amounts."""

    def _fill(self, slots: Slots) -> None:
        rows = [self.make_row(slot) for slot in slots.tolist()]
        counts = np.array([len(row.pods) for row in rows])
        most, width = int(counts.max()), self.facts.shape[1]
        if most > width:
            self.facts = np.pad(self.facts, ((0, 0), (0, max(most, 2 * width) - width), (0, 0)))
        pods = [pod for row in rows for pod in row.pods]
        ends = counts.cumsum()
        places = np.arange(len(pods)) - np.repeat(ends - counts, counts)
        taken_by = np.repeat(slots, counts)
        self.facts[:, :, slots] = 0
        self.facts[WEIGHT, places, taken_by] = [pod.template.priority + PRIORITY_OFFSET for pod in pods]
        self.facts[START, places, taken_by] = [started(pod.start_time) for pod in pods]
        self.facts[PROTECTED, places, taken_by] = places < np.repeat([row.protected for row in rows], counts)
        for i, (name, (offered, taken)) in enumerate(self.columns.items()):
            amounts = requested(pods, name)
            self.facts[AMOUNTS + i, places, taken_by] = amounts
            # Sums of plain ints, which do not overflow.
            begin = 0
            for slot, end in zip(slots.tolist(), ends.tolist(), strict=True):
                free = offered.values[slot] - taken.values[slot] + sum(amounts[begin:end])
                self.free[i, slot] = max(free, _MIN_FREE_AMOUNT)
                begin = end
        self.count[slots] = counts


def requested(pods: list[Pod], resource: str) -> list[int]:
    """The request of each pod for a resource."""
    if resource == PODS:
        return [1] * len(pods)
    return [(pod.used[0] if pod.used else pod.template.requests).get(resource, 0) for pod in pods]
