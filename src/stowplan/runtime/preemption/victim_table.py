"""The pods that preemptors of one priority may evict, node by node, as numbers that are kept from search to search."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import Column
from stowplan.framework import NodeInfo, Pod, Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.select_candidate import PRIORITY_OFFSET
from stowplan.runtime.preemption.victims import by_importance, started

if TYPE_CHECKING:
    from stowplan.runtime.preemption.kept_dry_runs import Clearings
    from stowplan.runtime.profile.profile import Profile

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
        for slot in stale.tolist():
            self._fill(slot)
        self._made[stale] = self.position

    def make_row(self, slot: int) -> Row:
        """A row alone, without the facts, which are of use only where many nodes are looked at."""
        info = self._table.infos[slot]
        assert info is not None
        pods, protected = self._budgets.protected_first(by_importance(info.pods.values(), self._below))
        self.rows[slot] = row = Row(info, pods, protected)
        return row

    def _clear(self, width: int) -> None:
        """Every row is still to be made."""
        size = self._table.capacity
        self.rows: list[Row | None] = [None] * size
        self.count: NDArray[np.intp] = np.zeros(size, dtype=np.intp)
        self.facts: Ints = np.zeros((AMOUNTS + len(self.columns), width, size), dtype=np.int64)
        self.free: Ints = np.zeros((len(self.columns), size), dtype=np.int64)
        """[resource, slot]: what the node would have left if all pods of the row were gone."""
        self.clearings: OrderedDict[tuple[Demand, ...], Clearings | None] = OrderedDict()
        """What was found out with these rows, by what was asked for; see `clearings`."""
        self._made: NDArray[np.int64] = np.zeros(size, dtype=np.int64)

    def _fill(self, slot: int) -> None:
        pods, protected = self.make_row(slot)[1:]
        count, width = len(pods), self.facts.shape[1]
        if count > width:
            self.facts = np.pad(self.facts, ((0, 0), (0, max(count, 2 * width) - width), (0, 0)))
        facts = [
            [pod.template.priority + PRIORITY_OFFSET for pod in pods],
            [started(pod.start_time) for pod in pods],
            [1] * protected + [0] * (count - protected),
        ]
        for i, (name, (offered, taken)) in enumerate(self.columns.items()):
            amounts = requested(pods, name)
            facts.append(amounts)
            self.free[i, slot] = max(offered.values[slot] - taken.values[slot] + sum(amounts), _LEAST)
        self.facts[:, :count, slot] = facts
        self.facts[:, count:, slot] = 0
        self.count[slot] = count


def requested(pods: list[Pod], resource: str) -> list[int]:
    """What each pod takes of a resource."""
    if resource == PODS:
        return [1] * len(pods)
    return [(pod.used[0] if pod.used else pod.template.requests).get(resource, 0) for pod in pods]
