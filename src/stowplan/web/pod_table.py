"""Pods on nodes as columns of the page's JSON.

A pod is an entry whose number stays the same while the pod is on a node; the number is reused afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from stowplan.framework import Pod, PodTemplate
from stowplan.insight.workloads import workload_of
from stowplan.web.columns import column, indexed
from stowplan.web.wire import Ints, PodColumns, PodNames, PodsChanged

MAX_FEED_MOVES = 200
PodKey = str
"""The pod's uid."""


class _Entry(NamedTuple):
    uid: str
    key: str
    workload: str
    slot: int
    priority: int
    requests: Mapping[str, int]


class PodMove(NamedTuple):
    """A pod that came to a node or left it."""

    pod: str
    slot: int
    came: bool


def pod_table(resources: list[str], pods_of_nodes: list[tuple[Pod, ...]]) -> PodTable:
    """The pods of all nodes, by slot."""
    table = PodTable(resources)
    for slot, pods in enumerate(pods_of_nodes):
        table.put_node(slot, pods)
    table.moves.clear()
    return table


class PodTable:
    """The entries. Used on the server's thread only."""

    def __init__(self, resources: list[str]) -> None:
        self.show(resources)
        self._entries: list[_Entry | None] = []
        self._free: list[int] = []
        self._of_node: dict[int, dict[PodKey, int]] = {}
        """Entries by slot and uid."""
        self.moves: deque[PodMove] = deque(maxlen=MAX_FEED_MOVES)
        """Pods that came or left since they were last cleared."""
        self._workloads: WeakKeyDictionary[PodTemplate, str] = WeakKeyDictionary()

    def show(self, resources: list[str]) -> None:
        """Sets the resources of which the requests are shown."""
        self._resources = [name for name in resources if name != "pods"]

    def put_node(self, slot: int, pods: Iterable[Pod]) -> set[int]:
        """Sets the pods of a node; returns the entries that changed."""
        known = self._of_node.setdefault(slot, {})
        changed: set[int] = set()
        present = {pod.uid: pod for pod in pods}
        for uid in [uid for uid in known if uid not in present]:
            number = known.pop(uid)
            gone, self._entries[number] = self._entries[number], None
            assert gone is not None
            self.moves.append(PodMove(gone.key, slot, came=False))
            self._free.append(number)
            changed.add(number)
        for uid, pod in present.items():
            if uid not in known:
                number = known[uid] = self._number()
                self._entries[number] = self._entry(pod, slot)
                self.moves.append(PodMove(pod.key, slot, came=True))
                changed.add(number)
        return changed

    def copy(self) -> PodTable:
        """The entries as they are now, to be read on another thread."""
        made = PodTable(self._resources)
        made._entries = list(self._entries)
        return made

    def columns(self, epoch: str, revision: int) -> PodColumns:
        entries = self._entries
        return PodColumns(
            epoch=epoch,
            revision=revision,
            number=len(entries),
            node=column([-1 if entry is None else entry.slot for entry in entries]),
            workload=indexed(["" if entry is None else entry.workload for entry in entries]),
            priority=column([0 if entry is None else entry.priority for entry in entries]),
            requests=self._requests(entries),
        )

    def names(self, epoch: str, revision: int) -> PodNames:
        return split_names(["" if entry is None else entry.key for entry in self._entries], epoch, revision)

    def changed(self, numbers: list[int]) -> PodsChanged:
        here = [(number, entry) for number in numbers if (entry := self._entries[number]) is not None]
        entries = [entry for _, entry in here]
        return PodsChanged(
            pod=[number for number, _ in here],
            node=column([entry.slot for entry in entries]),
            name=[entry.key for entry in entries],
            workload=indexed([entry.workload for entry in entries]),
            priority=column([entry.priority for entry in entries]),
            requests=self._requests(entries),
            gone=[number for number in numbers if self._entries[number] is None],
        )

    def _requests(self, entries: Iterable[_Entry | None]) -> dict[str, Ints]:
        listed = list(entries)
        return {
            name: column([0 if entry is None else entry.requests.get(name, 0) for entry in listed])
            for name in self._resources
        }

    def _entry(self, pod: Pod, slot: int) -> _Entry:
        workload = self._workloads.get(pod.template)
        if workload is None:
            workload = self._workloads[pod.template] = workload_key(pod)
        requests = pod.template.requests if pod.used is None else pod.used[0]
        return _Entry(pod.uid, pod.key, workload, slot, pod.priority, requests)

    def _number(self) -> int:
        if self._free:
            return self._free.pop()
        self._entries.append(None)
        return len(self._entries) - 1


def split_names(names: list[str], epoch: str, revision: int) -> PodNames:
    """The names, split after the last dash, which most names of one workload have in common."""
    parts = [name.rpartition("-") for name in names]
    return PodNames(
        epoch=epoch,
        revision=revision,
        prefix=indexed([head + dash for head, dash, _ in parts]),
        suffix=[tail for _, _, tail in parts],
    )


def workload_key(pod: Pod) -> str:
    """`namespace/Kind/name`; `namespace/` for a pod without a controller and without a pod group."""
    workload = workload_of(pod)
    return f"{pod.namespace}/" if workload is None else f"{pod.namespace}/{workload}"
