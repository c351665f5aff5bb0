"""Leader election on a thread of its own, so that a busy scheduler does not lose the lease.

Upstream: k8s.io/client-go/tools/leaderelection/healthzadaptor.go (health check)
"""

import asyncio
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable

from stowplan import logs
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.leader_election.election_rules import ElectionRules
from stowplan.cluster.leader_election.leader_elector import MAX_UPSTREAM_JITTER, LeaderElector
from stowplan.cluster.leader_election.lease_lock import LeaseLock
from stowplan.config.types import LeaderElection
from stowplan.errors import ConfigError

log = logs.get(__name__)

EXPIRED_TOLERANCE_SECONDS = 20.0
"""Time that a held lease may be expired before the health check fails, as in kube-scheduler."""


def make_identity() -> str:
    """A unique identity of this process."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class ElectorThread:
    """Runs an elector from `start` to `stop`. Callbacks are called on the elector's thread.

    `on_started` is called when this process leads. `on_stopped` is called when leading or trying ends, for any reason:
    the elector does not run again, since a scheduler that lost its lease must restart.
    """

    def __init__(
        self,
        connection: Connection,
        settings: LeaderElection,
        *,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        identity: str = "",
        component: str = "default-scheduler",
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        rng: random.Random | None = None,
        observe: Callable[[str, str, float, int, int], object] | None = None,
    ) -> None:
        self._observe = observe
        if settings.renew_deadline.seconds <= MAX_UPSTREAM_JITTER * settings.retry_period.seconds:
            raise ConfigError(
                f"leaderElection.renewDeadline: must be greater than retryPeriod times {MAX_UPSTREAM_JITTER}"
            )
        self._candidate = ElectionRules(identity or make_identity(), settings, clock=clock, wall=wall)
        self._connection = connection
        self._settings = settings
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._component = component
        self._clock = clock
        self._rng = rng or random.Random()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._running = threading.Event()
        self._thread = threading.Thread(target=self._work, name="leader-election", daemon=True)

    def is_leader(self) -> bool:
        """Whether a write is safe now. Cheap, thread-safe, and correct even if the elector's thread hangs."""
        return self._candidate.is_leader()

    @property
    def leader(self) -> str:
        """The identity of the observed leader; empty if there is none."""
        return self._candidate.leader

    def problem(self) -> str | None:
        """The failure of a leader that neither renews its lease nor stops; None if healthy."""
        if self._candidate.overdue() <= EXPIRED_TOLERANCE_SECONDS:
            return None
        return f"failed election to renew leadership on lease {self._settings.resource_name}"

    def start(self) -> None:
        self._thread.start()
        self._running.wait()

    def stop(self, timeout: float = 5.0) -> None:
        """Stop leading, release the lease and end the thread, within the timeout if the API server replies."""
        self._candidate.resign()
        if self._thread.is_alive() and self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join(timeout)

    def _work(self) -> None:
        asyncio.run(self._stand())

    async def _stand(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._running.set()
        settings = self._settings
        client = Client(self._connection, observe=self._observe)
        lock = LeaseLock(
            client,
            settings.resource_namespace,
            settings.resource_name,
            component=self._component,
            timeout=max(settings.renew_deadline.seconds / 2, 1.0),
        )
        campaign = LeaderElector(
            self._candidate,
            lock,
            settings,
            name=lock.name,
            on_started=self._on_started,
            on_stopped=self._on_stopped,
            clock=self._clock,
            rng=self._rng,
        )
        try:
            await campaign.run()
        except asyncio.CancelledError:
            log.v(5, "Leader election was cancelled")
        finally:
            await client.close()
