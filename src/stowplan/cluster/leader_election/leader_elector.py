"""Leader elector: acquires the lease, renews it, releases it.

Upstream: k8s.io/client-go/tools/leaderelection/leaderelection.go
"""

import asyncio
import random
from collections.abc import Callable

from stowplan import logs
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.leader_election.election_rules import ElectionRules
from stowplan.cluster.leader_election.lease_lock import Lock
from stowplan.cluster.retry import FailureLog
from stowplan.config.types import LeaderElection

MAX_UPSTREAM_JITTER = 1.2
"""client-go's largest factor of the pause between attempts to acquire."""
_RETRY_JITTER_SHARE = 0.2
_EXPIRY_MARGIN_SECONDS = 0.01
_RELEASE_TIMEOUT_SECONDS = 3.0
"""Limit for releasing the lease while the process exits."""
_EVENT_TIMEOUT_SECONDS = 1.0

log = logs.get(__name__)


class LeaderElector:
    """Runs a candidate once: from the first attempt until the lease is lost or the task is cancelled."""

    def __init__(
        self,
        candidate: ElectionRules,
        lock: Lock,
        settings: LeaderElection,
        *,
        name: str,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        clock: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self._candidate = candidate
        self._lock = lock
        self._name = name
        self._deadline = settings.renew_deadline.seconds
        self._period = settings.retry_period.seconds
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._clock = clock
        self._rng = rng
        self._failure_log = FailureLog(clock, lock=name)
        self._leader = ""

    async def run(self) -> None:
        try:
            await self._acquire()
            log.info("Successfully acquired lease", lock=self._name)
            self._on_started()
            await self._record_event("became leader")
            await self._hold()
            log.warning("Failed to renew lease", lock=self._name, err="renew deadline exceeded")
        finally:
            self._candidate.resign()
            self._on_stopped()
            await self._release()

    async def _acquire(self) -> None:
        log.info("Attempting to acquire leader lease...", lock=self._name)
        while not await self._try():
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        """Seconds until the next attempt to acquire: at most the retry period, so that the last renewal is observed
        soon, and at most until the lease expires. So the lease changes hands within a period of its end."""
        pause = self._period * (1 - _RETRY_JITTER_SHARE * self._rng.random())
        left = self._candidate.expires_in() + _EXPIRY_MARGIN_SECONDS
        return min(pause, left) if left > 0 else pause

    async def _hold(self) -> None:
        """Renew until no attempt succeeds within the renew deadline."""
        while True:
            await asyncio.sleep(self._period)
            try:
                async with asyncio.timeout(self._deadline):
                    while not await self._try():
                        await asyncio.sleep(self._period)
            except TimeoutError:
                return

    async def _try(self) -> bool:
        """Acquire or renew. Returns whether this candidate holds the lease."""
        try:
            won = await self._renew() or await self._claim()
        except ClusterError as error:
            self._failure_log.failed("acquire", error)
            won = False
        if self._leader != self._candidate.leader:
            self._leader = self._candidate.leader
            log.info("Leader changed", lock=self._name, leader=self._leader)
        return won

    async def _renew(self) -> bool:
        spec, sent_at = self._candidate.renewal(), self._clock()
        if spec is None:
            return False
        try:
            await self._lock.update(spec)
        except ClusterError as error:
            log.info("Failed to update lease optimistically, falling back to slow path", lock=self._name, err=error)
            return False
        self._candidate.wrote(spec, sent_at)
        return True

    async def _claim(self) -> bool:
        found = await self._lock.read()
        spec, sent_at = self._candidate.claim(found), self._clock()
        if spec is None:
            return False
        await (self._lock.create(spec) if found is None else self._lock.update(spec))
        self._failure_log.works("acquire")
        self._candidate.wrote(spec, sent_at)
        return True

    async def _release(self) -> None:
        """Release a held lease, so that the next leader need not wait for its expiry."""
        if not self._candidate.is_holder():
            return
        try:
            async with asyncio.timeout(_RELEASE_TIMEOUT_SECONDS):
                found = await self._lock.read()
                if found is not None and (spec := self._candidate.release(found)) is not None:
                    await self._lock.update(spec)
                await self._record_event("stopped leading")
        except (ClusterError, TimeoutError) as error:
            log.warning("Failed to release lease", lock=self._name, err=str(error) or "no reply in time")

    async def _record_event(self, what: str) -> None:
        """Record an event about the election; failures are logged."""
        try:
            async with asyncio.timeout(_EVENT_TIMEOUT_SECONDS):
                await self._lock.record_event(f"{self._candidate.identity} {what}")
        except (ClusterError, TimeoutError) as error:
            log.info("Failed to record event", lock=self._name, note=f"{self._candidate.identity} {what}", err=error)
