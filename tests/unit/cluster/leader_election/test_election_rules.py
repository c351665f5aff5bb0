from dataclasses import dataclass, field

import pytest

from stowplan.api import LeaseSpec
from stowplan.cluster.leader_election.election_rules import ElectionRules
from stowplan.config import Duration
from stowplan.config.types import LeaderElection

SETTINGS = LeaderElection()  # 15 s, of which the holder uses 10


@dataclass
class _Clock:
    now: float = 100.0
    wall: float = field(default=1_700_000_000.0)

    def candidate(self, identity: str = "me") -> ElectionRules:
        return ElectionRules(identity, SETTINGS, clock=lambda: self.now, wall=lambda: self.wall)


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def _lease(holder: str, *, seconds: int = 15, renewed: str = "2000-01-01T00:00:00Z", transitions: int = 3) -> LeaseSpec:
    return LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=seconds,
        acquire_time="1999-01-01T00:00:00Z",
        renew_time=renewed,
        lease_transitions=transitions,
    )


# Taking a lease
def test_where_there_is_no_lease_one_is_made(clock: _Clock) -> None:
    assert clock.candidate().claim(None) == LeaseSpec(
        holder_identity="me",
        lease_duration_seconds=15,
        acquire_time="2023-11-14T22:13:20.000000Z",
        renew_time="2023-11-14T22:13:20.000000Z",
        lease_transitions=0,
    )


def test_a_lease_of_nobody_is_taken_over_at_once(clock: _Clock) -> None:
    claim = clock.candidate().claim(_lease("", seconds=1))
    assert claim is not None
    assert (claim.holder_identity, claim.lease_transitions) == ("me", 4)


def test_a_lease_without_fields_is_taken_over(clock: _Clock) -> None:
    claim = clock.candidate().claim(LeaseSpec())
    assert claim is not None
    assert claim.lease_transitions == 1


def test_a_held_lease_is_taken_over_once_it_did_not_change_for_as_long_as_it_lasts(clock: _Clock) -> None:
    candidate, held = clock.candidate(), _lease("you", seconds=20)
    assert candidate.claim(held) is None
    assert candidate.leader == "you"
    clock.now += 19.9
    assert candidate.claim(held) is None
    clock.now += 0.1
    claim = candidate.claim(held)
    assert claim is not None
    assert (claim.holder_identity, claim.lease_transitions) == ("me", 4)
    assert claim.acquire_time == claim.renew_time == "2023-11-14T22:13:20.000000Z"


def test_every_change_counts_as_a_sign_of_life(clock: _Clock) -> None:
    candidate = clock.candidate()
    for second in range(5):
        assert candidate.claim(_lease("you", renewed=f"2000-01-01T00:00:{second:02}Z")) is None
        clock.now += 14.0


@pytest.mark.parametrize("renewed", ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_the_times_in_the_lease_do_not_matter(clock: _Clock, renewed: str) -> None:
    candidate, held = clock.candidate(), _lease("you", renewed=renewed)
    assert candidate.claim(held) is None
    clock.now += 15.0
    assert candidate.claim(held) is not None


# Holding it
def _leader(clock: _Clock) -> ElectionRules:
    candidate = clock.candidate()
    claim = candidate.claim(None)
    assert claim is not None
    candidate.wrote(claim, clock.now)
    return candidate


def test_nobody_leads_before_the_lease_is_written(clock: _Clock) -> None:
    candidate = clock.candidate()
    candidate.claim(None)
    assert not candidate.is_leader()
    assert not candidate.is_holder()
    assert candidate.renewal() is None


def test_a_renewal_keeps_when_it_was_acquired(clock: _Clock) -> None:
    candidate = _leader(clock)
    clock.wall += 2.5
    renewal = candidate.renewal()
    assert renewal is not None
    assert renewal.acquire_time == "2023-11-14T22:13:20.000000Z"
    assert renewal.renew_time == "2023-11-14T22:13:22.500000Z"
    assert renewal.lease_transitions == 0


def test_the_lease_is_good_until_the_deadline_after_the_renewal_was_sent(clock: _Clock) -> None:
    candidate = clock.candidate()
    claim = candidate.claim(None)
    assert claim is not None
    sent_at = clock.now
    clock.now += 4.0
    candidate.wrote(claim, sent_at)
    clock.now = sent_at + 9.9
    assert candidate.is_leader()
    clock.now = sent_at + 10.0
    assert not candidate.is_leader()
    assert candidate.is_holder()


def test_a_lease_rounded_down_is_not_held_longer_than_it_says(clock: _Clock) -> None:
    short = LeaderElection(lease_duration=Duration.parse("1900ms"), renew_deadline=Duration.parse("1800ms"))
    candidate = ElectionRules("me", short, clock=lambda: clock.now, wall=lambda: clock.wall)
    claim = candidate.claim(None)
    assert claim is not None
    assert claim.lease_duration_seconds == 1
    candidate.wrote(claim, clock.now)
    clock.now += 1.0
    assert not candidate.is_leader()


def test_a_late_renewal_makes_it_good_again(clock: _Clock) -> None:
    candidate = _leader(clock)
    clock.now += 11.0
    assert not candidate.is_leader()
    renewal = candidate.renewal()
    assert renewal is not None
    candidate.wrote(renewal, clock.now)
    assert candidate.is_leader()


def test_a_holder_whose_lease_has_run_out_looks_first(clock: _Clock) -> None:
    candidate = _leader(clock)
    clock.now += 15.0
    assert candidate.renewal() is None


def test_a_holder_that_finds_itself_goes_on(clock: _Clock) -> None:
    """As after a renewal whose reply was lost."""
    candidate = clock.candidate()
    claim = candidate.claim(_lease("me"))
    assert claim is not None
    assert (claim.acquire_time, claim.lease_transitions) == ("1999-01-01T00:00:00Z", 3)


def test_whoever_finds_another_holder_leads_no_more(clock: _Clock) -> None:
    candidate = _leader(clock)
    assert candidate.claim(_lease("you")) is None
    assert not candidate.is_leader()
    assert candidate.renewal() is None


# Handing it on
def test_a_released_lease_is_nobodys_and_lasts_a_second(clock: _Clock) -> None:
    candidate = _leader(clock)
    held = _lease("me", transitions=7)
    assert candidate.release(held) == LeaseSpec(
        holder_identity="",
        lease_duration_seconds=1,
        acquire_time="2023-11-14T22:13:20.000000Z",
        renew_time="2023-11-14T22:13:20.000000Z",
        lease_transitions=7,
    )


def test_a_lease_of_another_is_not_released(clock: _Clock) -> None:
    assert _leader(clock).release(_lease("you")) is None


def test_whoever_resigned_does_not_lead_whatever_comes_of_requests_under_way(clock: _Clock) -> None:
    candidate = _leader(clock)
    renewal = candidate.renewal()
    candidate.resign()
    assert not candidate.is_leader()
    assert renewal is not None
    candidate.wrote(renewal, clock.now)
    assert not candidate.is_leader()


# Being late
def test_a_holder_that_does_not_renew_is_overdue_from_the_end_of_its_lease_on(clock: _Clock) -> None:
    me = clock.candidate()
    assert me.overdue() == 0
    me.wrote(_lease("me"), sent_at=100.0)
    clock.now = 114.0
    assert me.overdue() == 0
    clock.now = 140.0
    assert me.overdue() == 25.0


def test_who_does_not_hold_the_lease_is_never_overdue(clock: _Clock) -> None:
    me = clock.candidate()
    me.claim(_lease("another"))
    clock.now = 1000.0
    assert me.overdue() == 0
