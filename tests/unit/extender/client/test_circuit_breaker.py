from __future__ import annotations

from tests.builders import Clock

from stowplan.extender.client.circuit_breaker import CHEAP_FAILURE_SECONDS, FAILURES_TO_OPEN, Breaker
from stowplan.framework.extender import CIRCUIT_PAUSE_SECONDS

SLOW = 5.0
"""Seconds of a call that fails for its time limit."""


def opened(clock: Clock) -> Breaker:
    breaker = Breaker(clock)
    for _ in range(FAILURES_TO_OPEN):
        assert breaker.refusal() == ""
        breaker.failed("no answer", SLOW)
    return breaker


def test_slow_failures_in_a_row_open_it_and_the_last_one_is_the_answer() -> None:
    breaker = opened(Clock())
    assert breaker.is_open
    assert breaker.refusal() == "no answer"


def test_failures_at_once_do_not() -> None:
    breaker = Breaker(Clock())
    for _ in range(10):
        breaker.failed("refused", CHEAP_FAILURE_SECONDS / 2)
        assert breaker.refusal() == ""
    assert not breaker.is_open


def test_failures_with_successes_between_them_do_not() -> None:
    breaker = Breaker(Clock())
    for _ in range(10):
        breaker.failed("no answer", SLOW)
        breaker.worked()
    assert not breaker.is_open
    assert breaker.refusal() == ""


def test_one_call_probes_and_closes_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += CIRCUIT_PAUSE_SECONDS
    assert breaker.refusal() == ""
    assert breaker.refusal() == "no answer"
    breaker.worked()
    assert not breaker.is_open
    assert breaker.refusal() == ""


def test_a_probe_that_fails_at_once_closes_it_too() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += CIRCUIT_PAUSE_SECONDS
    assert breaker.refusal() == ""
    breaker.failed("refused", 0.01)
    assert breaker.refusal() == ""


def test_no_pause_is_longer_than_a_second() -> None:
    clock = Clock()
    breaker = opened(clock)
    pauses = []
    for _ in range(7):
        began = clock.now
        while breaker.refusal():
            clock.now += 0.25
        breaker.failed("no answer", SLOW)
        pauses.append(clock.now - began)
    assert max(pauses) <= 1.0
    assert breaker.refusal() == "no answer"
