"""Leader election among replicas: the leader keeps the reservations."""

from __future__ import annotations

import threading
from collections.abc import Callable

from stowplan import logs
from stowplan.cluster.connection import Connection
from stowplan.cluster.leader_election import ElectorThread
from stowplan.config.types import LeaderElection

log = logs.get(__name__)


class ReservationLease:
    """Competes for the lease from `start` to `stop`, and again after each loss."""

    def __init__(
        self, connection: Connection, settings: LeaderElection, *, on_lost: Callable[[], None] = lambda: None
    ) -> None:
        """`on_lost` is called, on another thread, when this replica loses the lease."""
        self._connection = connection
        self._settings = settings
        self._on_lost = on_lost
        self._elector: ElectorThread | None = None
        self._stopping = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._compete, name="reservation-lease", daemon=True)

    def holds(self) -> bool:
        """Whether this replica is the leader."""
        elector = self._elector
        return elector is not None and elector.is_leader()

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """Release the lease."""
        self._stopping.set()
        self._lost.set()
        self._thread.join(timeout + 1.0)

    def _compete(self) -> None:
        while not self._stopping.is_set():
            self._lost.clear()
            elector = self._elector = ElectorThread(
                self._connection,
                self._settings,
                on_started=lambda: log.info("This replica holds the reservations"),
                on_stopped=self._lost.set,
                component="stowplan-extender",
            )
            elector.start()
            self._lost.wait()
            elector.stop(2.0)
            if not self._stopping.is_set():
                log.warning("Lost the lease, another replica holds the reservations")
                self._on_lost()
