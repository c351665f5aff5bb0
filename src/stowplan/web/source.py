"""The state that the page shows: everything that its routes answer from.

`StateSource` answers from an engine, whichever host the engine has: a simulation, a snapshot, a cluster that is
watched, or a running scheduler. Hosts differ in the thread that owns the engine (`Owner`) and in the origin of
explanations (`PodAnswers`).
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Protocol, TypeVar

from stowplan._version import __version__
from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.defaults import default_configuration
from stowplan.engine import Engine
from stowplan.framework import Pod
from stowplan.insight.finding import FoundPod, PodNotFoundError
from stowplan.insight.insight import Insight
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import WorkloadReference
from stowplan.web.columns import Times, copy_changes, copy_nodes, copy_pods
from stowplan.web.config_page import config_page
from stowplan.web.fit import fit, opened, points
from stowplan.web.history import HistoryRing
from stowplan.web.mirror import Mirror
from stowplan.web.node_page import node_page
from stowplan.web.owner import Owner
from stowplan.web.pending import MAX_GROUPS, PendingGroups, group_pending, pending_groups, pending_row
from stowplan.web.pod_table import PodTable, pod_table
from stowplan.web.queue_page import queue_page
from stowplan.web.what_if import WhatIfRuns
from stowplan.web.wire import (
    ConfigPage,
    GroupPage,
    Hello,
    NodeFit,
    NodeMap,
    NodePage,
    OpenedNodes,
    PendingPage,
    PodColumns,
    PodNames,
    QueueChanged,
    QueuePage,
    RunEvents,
    ScoreColumns,
    SourceKind,
    TimeUnit,
)

MIN_REFRESH_SECONDS = 1.0
"""Between two copies of the columns while no stream is open."""
_PENDING_SHARE = 0.02
"""Share of the time that the list of pending pods may take while it is shown."""
_MIN_PENDING_SECONDS = 2.0

T = TypeVar("T")
PodAnswer = Callable[[Insight, FoundPod, str, int], Slices[T]]
"""(insight, pod, epoch, revision) to the answer."""


class PodAnswers(Protocol):
    """Explanations as the commands print them."""

    async def explain(self, namespace: str, pod: str, top: int) -> Any: ...

    async def why_not(self, namespace: str, pod: str, node: str) -> Any: ...

    async def workload(self, reference: WorkloadReference) -> Any: ...

    async def about(self, namespace: str, pod: str, answer: Callable[[FoundPod], Slices[T]]) -> T:
        """Another answer about one pod."""
        ...


class RecordedTimeline(Protocol):
    """What happened from the start of a run to its end. The methods are called on the owner's thread."""

    @property
    def unit(self) -> TimeUnit: ...

    def events(self, mirror: Mirror, first: int = 0) -> RunEvents: ...

    def pods(self, mirror: Mirror) -> PodColumns: ...

    def pod_names(self, mirror: Mirror) -> PodNames: ...


@dataclass
class Shown:
    """How a source presents itself."""

    name: str
    kind: SourceKind
    start: float = 0.0
    """Of the page's times, in seconds since 1970 by the engine's clock."""
    changes: bool = False
    """Whether the state changes while it is shown."""
    features: list[str] = field(default_factory=list)
    config: KubeSchedulerConfiguration = field(default_factory=default_configuration)
    since: Callable[[Pod], str] | None = None
    """Since when a pod is pending, if the engine's queue does not know it because another scheduler tries the pods."""


class StateSource:
    """Answers from an engine. All methods run on the server's event loop."""

    history: HistoryRing | None = None
    """Samples over time, if the host takes them."""

    def __init__(
        self, engine: Engine, insight: Insight, owner: Owner, answers: PodAnswers, shown: Shown, epoch: str = ""
    ) -> None:
        """`epoch` is random by default."""
        self.engine = engine
        self.insight = insight
        self.owner = owner
        self.answers = answers
        self.shown = shown
        self.mirror = Mirror(epoch or secrets.token_hex(4), lambda: Times(self.now, shown.start))
        self._lock = asyncio.Lock()
        self._refreshed = -MIN_REFRESH_SECONDS
        self._groups: PendingGroups | None = None
        self._groups_due = 0.0
        self._grouping: asyncio.Task[PendingGroups] | None = None
        self._queue_known: object = None
        self.what_if: WhatIfRuns | None = None
        """Computes the difference that changes make, if the host offers that."""
        self.run: RecordedTimeline | None = None
        """A simulation or recording from its start to its end, if the source is one; its state is that at the end."""

    @property
    def now(self) -> float:
        """The page's time."""
        return self.insight.clock() - self.shown.start

    async def refresh(self, min_seconds: float = 0.0) -> None:
        """Brings the mirror up to date, unless that happened less than `min_seconds` ago."""
        async with self._lock:
            mirror, cluster = self.mirror, self.engine.cluster
            if mirror.revision and monotonic() - self._refreshed < min_seconds:
                return
            self._refreshed = monotonic()
            if not mirror.revision:
                mirror.begin(await self.owner.read(lambda: copy_nodes(cluster)))
                return
            position, node_position, pods = mirror.position, mirror.node_position, mirror.pods is not None
            mirror.apply(await self.owner.read(lambda: copy_changes(cluster, position, node_position, pods=pods)))

    async def refresh_queue(self) -> None:
        """Publishes the counts of the queue, if they changed."""
        engine = self.engine
        counts, pods, nodes = await self.owner.read(
            lambda: (engine.queue_counts(), len(engine.cluster.pods), len(engine.cluster.nodes))
        )
        rates = (0.0, 0.0) if self.history is None else self.history.rates()
        known = (counts, pods, nodes, rates)
        if known != self._queue_known:
            self._queue_known = known
            value = QueueChanged(time=self.now, counts=counts, bound=rates[0], failed=rates[1], pods=pods, nodes=nodes)
            self.mirror.publish("queue", value)

    async def refresh_pending(self) -> None:
        """Publishes the groups of pending pods that changed."""
        groups = await self.groups()
        self.mirror.put_groups(groups.total, groups.groups[:MAX_GROUPS])

    async def hello(self) -> Hello:
        await self.refresh(MIN_REFRESH_SECONDS)
        engine = self.engine
        nodes, pods, pending = await self.owner.read(
            lambda: (len(engine.cluster.nodes), len(engine.cluster.pods), len(engine.pending))
        )
        return Hello(
            source=self.shown.name,
            kind=self.shown.kind,
            version=__version__,
            epoch=self.mirror.epoch,
            revision=self.mirror.revision,
            time=self.now,
            start=self.shown.start,
            features=self.shown.features,
            nodes=nodes,
            pods=pods,
            pending=pending,
            unit="seconds" if self.run is None else self.run.unit,
        )

    async def map(self) -> NodeMap:
        await self.refresh(MIN_REFRESH_SECONDS)
        return self.mirror.map()

    async def run_events(self, first: int) -> RunEvents:
        run, mirror = self.run, self.mirror
        assert run is not None
        await self.refresh(MIN_REFRESH_SECONDS)
        return await self.owner.read(lambda: run.events(mirror, first))

    async def pods(self) -> PodColumns:
        if (run := self.run) is not None:
            await self.refresh(MIN_REFRESH_SECONDS)
            return await self.owner.read(lambda: run.pods(self.mirror))
        table = await self._pod_table()
        return await asyncio.to_thread(table.columns, self.mirror.epoch, self.mirror.revision)

    async def pod_names(self) -> PodNames:
        if (run := self.run) is not None:
            return await self.owner.read(lambda: run.pod_names(self.mirror))
        table = await self._pod_table()
        return await asyncio.to_thread(table.names, self.mirror.epoch, self.mirror.revision)

    async def _pod_table(self) -> PodTable:
        """A copy of the pod table, which is filled at the first call; from then on `refresh` keeps it up to date."""
        await self.refresh(MIN_REFRESH_SECONDS)
        async with self._lock:
            mirror, cluster = self.mirror, self.engine.cluster
            if mirror.pods is None:
                pods = await self.owner.answer(lambda: copy_pods(cluster))
                mirror.pods = await asyncio.to_thread(pod_table, mirror.resources, pods)
            return mirror.pods.copy()

    async def pending(self) -> PendingPage:
        groups = await self.groups()
        if not self.mirror.groups:
            await self.refresh(MIN_REFRESH_SECONDS)
            self.mirror.put_groups(groups.total, groups.groups[:MAX_GROUPS])
        return groups.page(self.mirror.epoch, self.mirror.revision, self.now)

    async def group(self, group_id: str, first: int, count: int) -> GroupPage:
        groups = await self.groups()
        pods = groups.pods.get(group_id)
        if pods is None:
            raise PodNotFoundError(f"group {group_id} is not known; its sentence may have changed")
        row = partial(pending_row, self.engine, self.insight.clocks, self.shown.since)
        return await self.owner.read(lambda: groups.group_page(row, group_id, first, count))

    async def groups(self) -> PendingGroups:
        """Pending pods by sentence; kept for a time in which they may take 2 % of the owner's time. The list is
        computed once for all clients, also if a client gives up."""
        if self._groups is not None and (not self.shown.changes or monotonic() < self._groups_due):
            return self._groups
        if self._grouping is None or self._grouping.done():
            self._grouping = asyncio.create_task(self._group())
        return await asyncio.shield(self._grouping)

    async def _group(self) -> PendingGroups:
        began, engine, insight = monotonic(), self.engine, self.insight
        found, members = await self.owner.answer(
            lambda: group_pending(insight), lambda: engine.cluster.nodes.membership
        )
        spent = monotonic() - began
        groups = self._groups = await asyncio.to_thread(pending_groups, found, members, self.shown.since)
        self._groups_due = began + max(_MIN_PENDING_SECONDS, spent / _PENDING_SHARE)
        return groups

    async def node(self, name: str) -> NodePage:
        await self.refresh(MIN_REFRESH_SECONDS)
        engine, insight, mirror = self.engine, self.insight, self.mirror
        return await self.owner.read(
            lambda: node_page(engine, insight.node(name), mirror.epoch, mirror.revision, mirror.times())
        )

    async def fit(self, namespace: str, pod: str) -> NodeFit:
        return await self._about(namespace, pod, fit)

    async def opened(self, namespace: str, pod: str, proposal: int) -> OpenedNodes:
        return await self._about(
            namespace, pod, lambda insight, found, epoch, revision: opened(insight, found, proposal, epoch, revision)
        )

    async def points(self, namespace: str, pod: str) -> ScoreColumns:
        return await self._about(namespace, pod, points)

    async def _about(self, namespace: str, pod: str, answer: PodAnswer[T]) -> T:
        await self.refresh(MIN_REFRESH_SECONDS)
        insight, mirror = self.insight, self.mirror
        return await self.answers.about(
            namespace, pod, lambda found: answer(insight, found, mirror.epoch, mirror.revision)
        )

    async def queue(self) -> QueuePage:
        engine, epoch, now, start = self.engine, self.mirror.epoch, self.now, self.shown.start
        return await self.owner.read(lambda: queue_page(engine, epoch, now, start, list(self.mirror.feed)))

    async def config(self) -> ConfigPage:
        return config_page(self.shown.config, self.engine.profiles)
