"""The informer cache: nodes, pods and other objects as the API server last reported them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from stowplan import api, logs
from stowplan.api.kinds import Kind
from stowplan.api.pod import FINISHED_PHASES
from stowplan.cache import Cluster
from stowplan.cluster.reflector import REQUIRED_KINDS
from stowplan.extender.reservations import ReservationBook
from stowplan.framework import Pod

log = logs.get(__name__)


class InformerCache:
    """The sink of the reflectors.

    Plugins read the cluster on other threads. Each batch of events is passed as one function to `apply`
    (`Handlers.apply`), which calls it while no plugin reads the cluster.
    """

    def __init__(
        self,
        kinds: Collection[str] = REQUIRED_KINDS,
        *,
        reservations: ReservationBook | None = None,
        keep_objects: bool = False,
        on_synced: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_synced` is called once, when all kinds have been listed."""
        self.cluster = Cluster(keep_objects=keep_objects)
        self.apply: Callable[[Callable[[], None]], None] = lambda change: change()
        self._reservations = reservations
        self._on_synced = on_synced
        self._clock = clock
        self._unsynced = set(kinds)
        self._last_event_at: float | None = None
        self._pending: dict[str, Pod] = {}

    @property
    def has_synced(self) -> bool:
        """Whether all kinds have been listed."""
        return not self._unsynced

    def age(self) -> float | None:
        """Seconds since the last event; None before the first."""
        return None if self._last_event_at is None else self._clock() - self._last_event_at

    def pending_pod(self, uid: str) -> Pod | None:
        """A pod without a node."""
        return self._pending.get(uid)

    # Sink of the reflectors
    def put(self, kind: Kind, items: Iterable[tuple[Any, Any]]) -> None:
        self._receive(kind, lambda: self._each(kind, self._put, items))

    def removed(self, kind: Kind, items: Iterable[Any]) -> None:
        self._receive(kind, lambda: self._each(kind, self._remove, [(item, None) for item in items]))

    def synced(self, kind: Kind) -> None:
        """The kind has been listed. Takes effect after the events before it."""
        self._receive(kind, lambda: self._note_synced(kind))

    def missing(self, kind: Kind) -> None:
        """The API server does not have the kind, so it counts as synced."""
        self.synced(kind)

    def forbidden(self, kind: Kind, verb: str) -> None:
        """Reading the kind is forbidden: nodes and pods stay unsynced, other kinds count as synced."""
        if kind.name not in REQUIRED_KINDS:
            self.synced(kind)

    def _receive(self, kind: Kind, change: Callable[[], None]) -> None:
        self._last_event_at = self._clock()
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
                # One broken object must not block the others.
                log.error(problem, "Failed to add an object to the cache", kind=kind.name, name=item.metadata.name)

    def _put(self, item: Any, whole: Any) -> None:
        if isinstance(item, api.Node):
            self.cluster.put_node(item, whole)
        elif isinstance(item, api.Pod):
            self._put_pod(item, whole)
        else:
            self.cluster.put(item)

    def _put_pod(self, item: api.Pod, whole: Any) -> None:
        uid = item.metadata.uid
        if item.status.phase in FINISHED_PHASES:
            self._remove(item, None)
        elif item.spec.node_name:
            self._pending.pop(uid, None)
            self.cluster.add_pod(self.cluster.pod(item, whole))
            if self._reservations is not None:
                self._reservations.bound(uid)
        elif uid not in self.cluster.pods:
            self._pending[uid] = self.cluster.pod(item, whole)

    def _remove(self, item: Any, whole: Any) -> None:
        if isinstance(item, api.Node):
            self.cluster.remove_node(item.metadata.name)
        elif isinstance(item, api.Pod):
            uid = item.metadata.uid
            self._pending.pop(uid, None)
            self.cluster.remove_pod(uid)
            if self._reservations is not None:
                self._reservations.gone(uid)
        else:
            self.cluster.remove(item)
