"""The pods that preemptors of one priority may evict, node by node, as numbers that are kept from search to search."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import Column
from stowplan.framework import Demand, NodeInfo, Pod, Slots
from stowplan.runtime.preemption.choice import PRIORITY_OFFSET
from stowplan.runtime.preemption.victims import by_importance, started

if TYPE_CHECKING:
    from stowplan.runtime.preemption.clearing import Clearings
    from stowplan.runtime.profile import Profile

Ints = NDArray[np.int64]

PODS = "pods"
"""The resource of which every pod takes one."""

WEIGHT, START, PROTECTED, AMOUNTS = range(4)
"""Facts about every pod, as positions in `Roster.facts`: its priority, made positive; when it started; whether a budget
protects it; and from there on what it requests of each resource."""

_LEAST = -(1 << 62)
"""Pods that request more than numbers can tell leave a node no less than this."""

_KEPT = 4
"""Priorities of preemptors for which rosters are kept."""


class Row(NamedTuple):
    """One node's potential victims."""

    info: NodeInfo
    pods: list[Pod]
    """In the order in which they are reprieved: the protected ones first, each group most important first."""
    protected: int
    """How many of them a budget protects."""


class Roster:
    """Rows by slot, and what counts about the pods in them: facts[fact, place in the row, slot], 0 at empty places.

    A row is made when a search comes to its node, and made again when the node or its pods have changed since.
    """

    def __init__(self, profile: Profile, priority: int) -> None:
        self._table = profile.cluster.nodes
        self._budgets = profile.budgets
        self._below = priority
        self._budgets_version = -1
        self.columns: dict[str, tuple[Column, Column]] = {}
        """By resource: what nodes offer, and what their pods request."""
        self._clear(0)

    @classmethod
    def of(cls, profile: Profile, priority: int) -> Roster:
        """The roster for preemptors of a priority."""
        kept = profile.budgets.rosters
        roster = kept.pop(priority, None) or cls(profile, priority)
        kept[priority] = roster
        if len(kept) > _KEPT:
            kept.popitem(last=False)
        return roster

    def cover(self, resources: Sequence[str]) -> list[int]:
        """Prepare for a search that asks for these resources; their places in `free`, and in facts from AMOUNTS on."""
        table, version = self._table, self._budgets.version
        new = [name for name in resources if name not in self.columns]
        if new or len(self.rows) != table.capacity or version != self._budgets_version:
            for name in new:
                self.columns[name] = (table.allowed_pods, table.pod_count) if name == PODS else table.resource(name)
            self._budgets_version = version
            self._clear(self.facts.shape[1])
        known = list(self.columns)
        return [known.index(name) for name in resources]

    def stale(self, slots: Slots, made: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where something changed since a position in the change log, by slot."""
        stale: NDArray[np.bool_] = made[slots] <= self._table.log.changed[slots]
        return stale

    @property
    def position(self) -> int:
        """Of the change log now."""
        return self._table.log.position

    def refresh(self, slots: Slots) -> None:
        """Bring the rows of some nodes up to date."""
        stale = slots[self.stale(slots, self._made)]
        if len(stale):
            self._fill(stale)
            self._made[stale] = self.position

    def make_row(self, slot: int) -> Row:
        """A row alone, without the facts, which are of use only where many nodes are looked at."""
        info = self._table.infos[slot]
        assert info is not None
        pods, protected = self._budgets.protected_first(by_importance(info.pods.values(), self._below))
        row = self.rows[slot] = Row(info, pods, protected)
        return row

    def _clear(self, width: int) -> None:
        """Every row is still to be made."""
        size = self._table.capacity
        self.rows: NDArray[np.object_] = np.full(size, None)
        self.count: NDArray[np.intp] = np.zeros(size, dtype=np.intp)
        self.facts: Ints = np.zeros((AMOUNTS + len(self.columns), width, size), dtype=np.int64)
        self.free: Ints = np.zeros((len(self.columns), size), dtype=np.int64)
        """[resource, slot]: what the node would have left if all pods of the row were gone."""
        self.clearings: OrderedDict[tuple[Demand, ...], Clearings | None] = OrderedDict()
        """What was found out with these rows, by what was asked for; see `clearing`."""
        self._made: NDArray[np.int64] = np.zeros(size, dtype=np.int64)

    def _fill(self, slots: Slots) -> None:
        rows = [self.make_row(slot) for slot in slots.tolist()]
        width, had = max(len(row.pods) for row in rows), self.facts.shape[1]
        if width > had:
            self.facts = np.pad(self.facts, ((0, 0), (0, max(width, 2 * had) - had), (0, 0)))
        facts = np.array([self._facts_of(row, width) for row in rows], dtype=np.int64).transpose(1, 2, 0)
        self.facts[:, :width, slots] = facts
        self.facts[:, width:, slots] = 0
        self.free[:, slots] = facts[AMOUNTS:].sum(axis=1)
        for free, (offered, taken) in zip(self.free, self.columns.values(), strict=True):
            free[slots] += [max(offered.values[slot] - taken.values[slot], _LEAST) for slot in slots.tolist()]
        self.count[slots] = [len(row.pods) for row in rows]

    def _facts_of(self, row: Row, width: int) -> list[list[int]]:
        """The facts about the pods of a row, filled up with zeros."""
        pods, missing = row.pods, [0] * (width - len(row.pods))
        return [
            [pod.template.priority + PRIORITY_OFFSET for pod in pods] + missing,
            [started(pod.start_time) for pod in pods] + missing,
            [1] * row.protected + [0] * (width - row.protected),
            *(requested(pods, name) + missing for name in self.columns),
        ]


def requested(pods: list[Pod], resource: str) -> list[int]:
    """What each pod takes of a resource."""
    if resource == PODS:
        return [1] * len(pods)
    return [(pod.template.requests if pod.used is None else pod.used[0]).get(resource, 0) for pod in pods]
