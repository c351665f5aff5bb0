import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.cluster import virtual_time
from tests.unit.cluster.leader_election.shared_lease import FakeLock, SharedLease

from stowplan.api import LeaseSpec
from stowplan.cluster.leader_election.election_rules import ElectionRules
from stowplan.cluster.leader_election.leader_elector import LeaderElector
from stowplan.config import Duration
from stowplan.config.types import LeaderElection

SETTINGS = LeaderElection()
EAGER = LeaderElection(retry_period=Duration.parse("200ms"))


class _Runner:
    """A candidate with its campaign, and what it was told."""

    def __init__(
        self, identity: str, lock: FakeLock, settings: LeaderElection = SETTINGS, *, skew: float = 0.0, seed: int = 0
    ) -> None:
        self.lock = lock
        self.told: list[tuple[str, float]] = []
        clock = virtual_time.now
        self.candidate = ElectionRules(identity, settings, clock=lambda: clock() + skew, wall=lambda: clock() - skew)
        campaign = LeaderElector(
            self.candidate,
            lock,
            settings,
            name="kube-system/x",
            on_started=lambda: self._note("started"),
            on_stopped=lambda: self._note("stopped"),
            clock=lambda: clock() + skew,
            rng=random.Random(seed),
        )
        self.task = asyncio.create_task(campaign.run())

    def _note(self, what: str) -> None:
        self.told.append((what, round(virtual_time.now() - 1000.0, 3)))

    def hang(self) -> None:
        """Do nothing more, not even stop: what a thread does that is stuck. Others may still ask the candidate."""
        self.lock.broken = True
        self.candidate.resign = lambda: None  # type: ignore[method-assign]
        self.task.cancel()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def _run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    virtual_time.run(main())


def test_a_lone_candidate_leads_renews_and_hands_on() -> None:
    async def main() -> None:
        lease = SharedLease()
        me = _Runner("me", FakeLock(lease))
        await asyncio.sleep(7)
        assert me.told == [("started", 0.0)]
        assert me.lock.requests == ["read", "create", "update", "update", "update"], "every 2 s, without looking"
        assert me.candidate.is_leader()
        await me.stop()
        assert me.told == [("started", 0.0), ("stopped", 7.0)]
        assert lease.history == ["me", ""]
        assert me.lock.notes == ["me became leader", "me stopped leading"]

    _run(main)


def test_the_next_one_takes_over_a_lease_that_was_handed_on() -> None:
    async def main() -> None:
        lease = SharedLease()
        me = _Runner("me", FakeLock(lease))
        await asyncio.sleep(0.1)
        you = _Runner("you", FakeLock(lease))
        await asyncio.sleep(60)
        assert lease.history == ["me"]
        await me.stop()
        stopped = virtual_time.now()
        while not you.candidate.is_leader():
            await asyncio.sleep(0.1)
        assert virtual_time.now() - stopped <= 2 + 0.2
        assert lease.history == ["me", "", "you"]
        assert lease.spec is not None
        assert lease.spec.lease_transitions == 1
        await you.stop()

    _run(main)


@pytest.mark.parametrize("seed", range(5))
def test_the_next_one_takes_over_within_the_lease_and_a_try_if_the_leader_is_killed(seed: int) -> None:
    async def main() -> None:
        lease = SharedLease()
        me = _Runner("me", FakeLock(lease))
        await asyncio.sleep(3)
        you = _Runner("you", FakeLock(lease), skew=12345.0, seed=seed)
        await asyncio.sleep(3 + seed / 3)
        me.lock.broken = True
        killed = virtual_time.now()
        me.task.cancel()
        while not you.candidate.is_leader():
            await asyncio.sleep(0.05)
            assert virtual_time.now() - killed <= 15 + 2 + 0.1
        assert virtual_time.now() - killed >= 13
        await you.stop()

    _run(main)


def test_a_leader_that_cannot_renew_stops_before_its_lease_ends() -> None:
    async def main() -> None:
        lease = SharedLease()
        me = _Runner("me", FakeLock(lease))
        await asyncio.sleep(5)  # renewed at 4
        me.lock.broken = True
        await asyncio.sleep(8.9)
        assert me.candidate.is_leader()
        await asyncio.sleep(0.2)  # 14.1
        assert not me.candidate.is_leader()
        await asyncio.sleep(10)
        assert me.told == [("started", 0.0), ("stopped", 16.0)]
        assert me.task.done()
        assert lease.history == ["me"]

    _run(main)


def test_a_hanging_request_does_not_hold_up_the_end() -> None:
    async def main() -> None:
        delays = iter([0.0, 0.0, 0.0])
        lock = FakeLock(SharedLease(), lambda: (next(delays, 1e6), 0.0, ""))
        me = _Runner("me", lock)
        await asyncio.sleep(30)  # renewed at 2
        assert me.told == [("started", 0.0), ("stopped", 14.0)]
        assert me.task.done()

    _run(main)


def test_trouble_that_passes_in_time_is_survived() -> None:
    async def main() -> None:
        me = _Runner("me", FakeLock(SharedLease()))
        for _ in range(5):
            await asyncio.sleep(5)
            me.lock.broken = True
            await asyncio.sleep(7)
            me.lock.broken = False
            await asyncio.sleep(3)
            assert me.candidate.is_leader()
        assert me.told == [("started", 0.0)]
        await me.stop()

    _run(main)


def test_a_lost_reply_does_not_lose_the_lease() -> None:
    async def main() -> None:
        lease = SharedLease()
        losses = cycle(["", "", "", "back", ""])
        me = _Runner("me", FakeLock(lease, lambda: (0.1, 0.1, next(losses))))
        await asyncio.sleep(120)
        assert me.told[1:] == []
        assert me.candidate.is_leader()
        assert lease.history == ["me"]
        await me.stop()

    _run(main)


def test_a_lease_taken_by_force_ends_the_lead(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        lease = SharedLease()
        me = _Runner("me", FakeLock(lease))
        await asyncio.sleep(3)
        lease.store(LeaseSpec(holder_identity="admin", lease_duration_seconds=3600))
        await asyncio.sleep(2)
        assert not me.candidate.is_leader()
        await asyncio.sleep(12)
        assert me.told == [("started", 0.0), ("stopped", 14.0)]
        assert lease.history == ["me", "admin"], "what is another's is not handed on"

    _run(main)
    assert "Failed to renew lease: renew deadline exceeded (lock=kube-system/x)" in caplog.messages


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), skews=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=4))
def test_there_are_never_two_leaders(seed: int, skews: list[float]) -> None:
    """Whatever is delayed, lost, cut off or started again, at no moment do two believe that they lead."""
    dice = random.Random(seed)

    def trouble() -> tuple[float, float, str]:
        delay = dice.choice([0.0, 0.0, 0.3, 0.3, 0.3, 0.3, 0.3, 9.0])
        lost = dice.choice(["", "", "", "", "", "there", "back"])
        return dice.uniform(0, delay), dice.uniform(0, delay), lost

    async def main() -> None:
        lease = SharedLease()

        def runner(number: int, generation: int) -> _Runner:
            lock = FakeLock(lease, trouble)
            return _Runner(f"{number}-{generation}", lock, EAGER, skew=skews[number], seed=dice.randrange(1 << 30))

        runners = [runner(number, 0) for number in range(len(skews))]
        stuck: list[_Runner] = []
        led = 0
        for step in range(600):
            await asyncio.sleep(dice.uniform(0, 0.6))
            leaders = [one for one in runners + stuck[-9:] if one.candidate.is_leader()]
            assert len(leaders) <= 1
            led += len(leaders)
            for number, one in enumerate(runners):
                one.lock.broken = dice.random() < (0.9 if one.lock.broken else 0.01)
                fate = dice.random()
                if fate < 0.015 and one.candidate.is_leader():
                    one.hang()
                    stuck.append(one)
                elif fate < 0.005 or one.task.done():
                    await one.stop()
                else:
                    continue
                runners[number] = runner(number, step + 1)
        assert led > 0
        for one in runners:
            await one.stop()

    _run(main)
