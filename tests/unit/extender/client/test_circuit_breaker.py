from __future__ import annotations

from tests.builders import Clock

from stowplan.extender.client.circuit_breaker import FAILURES, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, Breaker


def opened(clock: Clock) -> Breaker:
    breaker = Breaker(clock)
    for _ in range(FAILURES):
        assert breaker.refusal() == ""
        breaker.failed("refused")
    return breaker


def test_some_failures_in_a_row_open_it_and_the_last_one_is_the_answer() -> None:
    breaker = opened(Clock())
    assert breaker.is_open
    assert breaker.refusal() == "refused"


def test_failures_with_successes_between_them_do_not() -> None:
    breaker = Breaker(Clock())
    for _ in range(10):
        breaker.failed("refused")
        breaker.worked()
    assert not breaker.is_open
    assert breaker.refusal() == ""


def test_one_call_probes_and_closes_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.refusal() == ""
    assert breaker.refusal() == "refused"
    breaker.worked()
    assert not breaker.is_open
    assert breaker.refusal() == ""


def test_probes_that_fail_make_the_pauses_longer_up_to_a_limit() -> None:
    clock = Clock()
    breaker = opened(clock)
    pauses = []
    for _ in range(7):
        began = clock.now
        while breaker.refusal():
            clock.now += 0.5
        breaker.failed("timeout")
        pauses.append(clock.now - began)
    assert pauses == [1, 2, 4, 8, 16, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS]
    assert breaker.refusal() == "timeout"


def test_after_it_was_closed_the_first_pause_is_short_again() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.refusal() == ""
    breaker.failed("timeout")
    clock.now += 2 * FIRST_PAUSE_SECONDS
    assert breaker.refusal() == ""
    breaker.worked()
    for _ in range(FAILURES):
        breaker.failed("refused")
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.refusal() == ""
