"""The cache, and the sink of the feeds that fill it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from stowplan import api, logs
from stowplan.api.kinds import Kind
from stowplan.cache import Cluster
from stowplan.extender.reservations import ReservationBook
from stowplan.framework import Pod

log = logs.get(__name__)

REQUIRED = ("Node", "Pod")
"""Without these a name in a request says nothing."""

_FINISHED = ("Succeeded", "Failed")


class InformerCache:
    """Nodes and pods as the API server last told of them.

    Plugins read the cluster, perhaps on other threads. So nothing is changed here directly: every batch of news goes as
    one function to `apply`, which whoever runs the plugins has set, and which calls it while no plugin looks.
    """

    def __init__(
        self,
        kinds: Collection[str] = REQUIRED,
        *,
        holding: ReservationBook | None = None,
        keep_objects: bool = False,
        on_synced: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_synced` is called once, when all that there is has been told."""
        self.cluster = Cluster(keep_objects=keep_objects)
        self.apply: Callable[[Callable[[], None]], None] = lambda change: change()
        self._holding = holding
        self._on_synced = on_synced
        self._clock = clock
        self._unsynced = set(kinds)
        self._heard_at: float | None = None
        self._pending: dict[str, Pod] = {}

    @property
    def synced(self) -> bool:
        """Whether all that there is has been listed."""
        return not self._unsynced

    def age(self) -> float | None:
        """Seconds since there was news; None before there was any. A quiet cluster has old news."""
        return None if self._heard_at is None else self._clock() - self._heard_at

    def pending_pod(self, uid: str) -> Pod | None:
        """A pod that is on no node yet."""
        return self._pending.get(uid)

    # The feeds' sink
    def put(self, kind: Kind, items: Iterable[tuple[Any, Any]]) -> None:
        self._hear(kind, lambda: self._each(kind, self._put, items))

    def removed(self, kind: Kind, items: Iterable[Any]) -> None:
        self._hear(kind, lambda: self._each(kind, self._remove, [(item, None) for item in items]))

    def synced_kind(self, kind: Kind) -> None:
        """All of a kind has been told; it counts as such when the news before it have been taken in."""
        self._hear(kind, lambda: self._note_synced(kind))

    def missing(self, kind: Kind) -> None:
        """The server has no such kind: there is nothing to wait for."""
        self.synced_kind(kind)

    def forbidden(self, kind: Kind, verb: str) -> None:
        """Objects of the kind may not be read, which only matters for nodes and pods."""
        if kind.name not in REQUIRED:
            self.synced_kind(kind)

    def _hear(self, kind: Kind, change: Callable[[], None]) -> None:
        self._heard_at = self._clock()
        self.apply(change)

    def _note_synced(self, kind: Kind) -> None:
        if kind.name in self._unsynced:
            self._unsynced.discard(kind.name)
            if not self._unsynced:
                self._on_synced()

    def _each(self, kind: Kind, take: Callable[[Any, Any], None], items: Iterable[tuple[Any, Any]]) -> None:
        for item, whole in items:
            try:
                take(item, whole)
            except Exception as problem:
                # One object must not keep us from hearing of all others.
                log.error(problem, "Failed to take in an object", kind=kind.name, name=item.metadata.name)

    def _put(self, item: Any, whole: Any) -> None:
        if isinstance(item, api.Node):
            self.cluster.put_node(item, whole)
        elif isinstance(item, api.Pod):
            self._put_pod(item, whole)
        else:
            self.cluster.put(item)

    def _put_pod(self, item: api.Pod, whole: Any) -> None:
        uid = item.metadata.uid
        if item.status.phase in _FINISHED:
            self._remove(item, None)
        elif item.spec.node_name:
            self._pending.pop(uid, None)
            self.cluster.add_pod(self.cluster.pod(item, whole))
            if self._holding is not None:
                self._holding.bound(uid)
        elif uid not in self.cluster.pods:
            self._pending[uid] = self.cluster.pod(item, whole)

    def _remove(self, item: Any, whole: Any) -> None:
        if isinstance(item, api.Node):
            self.cluster.remove_node(item.metadata.name)
        elif isinstance(item, api.Pod):
            uid = item.metadata.uid
            self._pending.pop(uid, None)
            self.cluster.remove_pod(uid)
            if self._holding is not None:
                self._holding.gone(uid)
        else:
            self.cluster.remove(item)
