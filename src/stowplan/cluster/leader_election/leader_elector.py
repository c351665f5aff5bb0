"""The course of an election for one candidate: acquire the lease, hold it, hand it on."""

import asyncio
import random
from collections.abc import Callable

from stowplan import logs
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.leader_election.election_rules import ElectionRules
from stowplan.cluster.leader_election.lease_lock import Lock
from stowplan.cluster.retry import FailureLog
from stowplan.config.types import LeaderElection

JITTER = 1.2
"""By how much client-go stretches the pauses of those who wait for the lease, at most."""
_SOONER = 0.2
_JUST_AFTER = 0.01
_RELEASE_SECONDS = 3.0
"""For handing the lease on at the end, when somebody waits for us to exit."""
_NOTE_SECONDS = 1.0

log = logs.get(__name__)


class LeaderElector:
    """Runs a candidate once: from the first try until the lease is lost, or the task is cancelled."""

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
        self._reports = FailureLog(clock, lock=name)
        self._leader = ""

    async def run(self) -> None:
        try:
            await self._acquire()
            log.info("Successfully acquired lease", lock=self._name)
            self._on_started()
            await self._tell("became leader")
            await self._hold()
            log.warning("Failed to renew lease", lock=self._name, err="renew deadline exceeded")
        finally:
            self._candidate.resign()
            self._on_stopped()
            await self._hand_on()

    async def _acquire(self) -> None:
        log.info("Attempting to acquire leader lease...", lock=self._name)
        while not await self._try():
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        """Until the next look at a lease that is another's: never longer than a retry period, so that its last renewal
        is seen soon, and no longer than until it expires. So it changes hands within a period of its end."""
        pause = self._period * (1 - _SOONER * self._rng.random())
        left = self._candidate.expires_in() + _JUST_AFTER
        return min(pause, left) if left > 0 else pause

    async def _hold(self) -> None:
        """Renew until no try succeeds for as long as the deadline allows."""
        while True:
            await asyncio.sleep(self._period)
            try:
                async with asyncio.timeout(self._deadline):
                    while not await self._try():
                        await asyncio.sleep(self._period)
            except TimeoutError:
                return

    async def _try(self) -> bool:
        """Acquire or renew; whether the lease is ours."""
        try:
            won = await self._renew() or await self._claim()
        except ClusterError as error:
            self._reports.failed("acquire", error)
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
        self._reports.works("acquire")
        self._candidate.wrote(spec, sent_at)
        return True

    async def _hand_on(self) -> None:
        """Give the lease back if it is still ours, so that nobody has to wait for it to expire."""
        if not self._candidate.is_holder():
            return
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                found = await self._lock.read()
                if found is not None and (spec := self._candidate.release(found)) is not None:
                    await self._lock.update(spec)
                await self._tell("stopped leading")
        except (ClusterError, TimeoutError) as error:
            log.warning("Failed to release lease", lock=self._name, err=str(error) or "no reply in time")

    async def _tell(self, what: str) -> None:
        """Leave an event; nothing depends on it."""
        try:
            async with asyncio.timeout(_NOTE_SECONDS):
                await self._lock.tell(f"{self._candidate.identity} {what}")
        except (ClusterError, TimeoutError) as error:
            log.info("Failed to record event", lock=self._name, note=f"{self._candidate.identity} {what}", err=error)
