"""The state that the page shows: everything that its routes answer from.

`StateSource` answers from an engine, whichever host the engine has: a simulation, a snapshot, a cluster that is
watched, or a running scheduler. Hosts differ in the thread that owns the engine (`Owner`) and in the origin of
explanations (`PodAnswers`).
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from stowplan._version import __version__
from stowplan.engine import Engine
from stowplan.insight.finding import PodNotFoundError
from stowplan.insight.insight import Insight
from stowplan.insight.workloads import WorkloadReference
from stowplan.web.columns import Times, copy_changes, copy_nodes
from stowplan.web.mirror import Mirror
from stowplan.web.node_page import node_page
from stowplan.web.owner import Owner
from stowplan.web.pending import PendingGroups, pending_groups
from stowplan.web.wire import GroupPage, Hello, NodeMap, NodePage, PendingPage, SourceKind

MIN_REFRESH_SECONDS = 1.0
"""Between two copies of the columns while no stream is open."""
_PENDING_SHARE = 0.02
"""Share of the time that the list of pending pods may take while it is shown."""
_MIN_PENDING_SECONDS = 2.0


class PodAnswers(Protocol):
    """Explanations as the commands print them."""

    async def explain(self, namespace: str, pod: str, top: int) -> Any: ...

    async def why_not(self, namespace: str, pod: str, node: str) -> Any: ...

    async def workload(self, reference: WorkloadReference) -> Any: ...


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


class StateSource:
    """Answers from an engine. All methods run on the server's event loop."""

    def __init__(self, engine: Engine, insight: Insight, owner: Owner, answers: PodAnswers, shown: Shown) -> None:
        self.engine = engine
        self.insight = insight
        self.owner = owner
        self.answers = answers
        self.shown = shown
        self.mirror = Mirror(secrets.token_hex(4), lambda: Times(self.now, shown.start))
        self._lock = asyncio.Lock()
        self._refreshed = -MIN_REFRESH_SECONDS
        self._groups: PendingGroups | None = None
        self._groups_due = 0.0

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
            position, node_position = mirror.position, mirror.node_position
            copy = await self.owner.read(lambda: copy_changes(cluster, position, node_position))
            mirror.apply(copy)

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
        )

    async def map(self) -> NodeMap:
        await self.refresh(MIN_REFRESH_SECONDS)
        return self.mirror.map()

    async def pending(self) -> PendingPage:
        groups = await self.groups()
        return groups.page(self.mirror.epoch, self.mirror.revision, self.now)

    async def group(self, group_id: str, first: int, count: int) -> GroupPage:
        groups = await self.groups()
        pods = groups.pods.get(group_id)
        if pods is None:
            raise PodNotFoundError(f"group {group_id} is not known; its sentence may have changed")
        engine, clocks = self.engine, self.insight.clocks
        return await self.owner.read(lambda: groups.group_page(engine, clocks, group_id, first, count))

    async def groups(self) -> PendingGroups:
        """Pending pods by sentence; kept for a time in which they may take 2 % of the owner's time."""
        if self._groups is None or (self.shown.changes and monotonic() >= self._groups_due):
            began = monotonic()
            engine, insight = self.engine, self.insight
            self._groups = await self.owner.answer(
                lambda: pending_groups(insight), lambda: engine.cluster.nodes.membership
            )
            spent = monotonic() - began
            self._groups_due = began + max(_MIN_PENDING_SECONDS, spent / _PENDING_SHARE)
        return self._groups

    async def node(self, name: str) -> NodePage:
        await self.refresh(MIN_REFRESH_SECONDS)
        engine, insight, mirror = self.engine, self.insight, self.mirror
        return await self.owner.read(
            lambda: node_page(engine, insight.node(name), mirror.epoch, mirror.revision, mirror.times())
        )
