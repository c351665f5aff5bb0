"""Pods that wait for an extender which does not answer."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host
from tests.extenders import FakeExtender

from stowplan.framework import Failure
from stowplan.framework.extender import CIRCUIT_OPEN, CIRCUIT_PAUSE_SECONDS, UNREACHABLE, CallExtender, Filtered

SPARED, DOWN = Failure("down", CIRCUIT_OPEN), Failure("down", UNREACHABLE)


class Outage:
    """One extender whose answers the test gives, and pods."""

    def __init__(self, verb: str = "filter", pods: int = 1, **options: Any) -> None:
        self.extender = FakeExtender(**{verb: lambda pod, argument: None}, **options)
        self.host = Host(node("n"), *(pod(f"p{i}") for i in range(pods)), extenders=(self.extender,))

    def attempt(self, outcome: Any) -> str:
        """Answers the call of the next pod's attempt; returns the pod."""
        self.host.schedule(CallExtender)
        request = self.host.next_open(CallExtender)
        self.host.do(request, outcome)
        self.host.settle(CallExtender)
        return str(request.pod.name)

    def retried_after(self, name: str) -> float:
        """Seconds until the pod's backoff ends."""
        expiration = self.host.unit(name).backoff_expiration
        return 0.0 if expiration is None else float(expiration + 1 - self.host.clock.now)

    def wait(self) -> None:
        """Until a pod is active."""
        while not self.host.engine.queue_counts()["active"]:
            due = self.host.next_deadline()
            assert due is not None
            self.host.pass_time(due)


def passing(*names: str) -> Filtered:
    return Filtered(list(names))


def test_attempts_without_a_call_do_not_prolong_the_backoff() -> None:
    outage = Outage()
    for _ in range(6):
        outage.attempt(SPARED)
        assert outage.retried_after("p0") <= 2
        outage.wait()
    for expected in (1, 2, 4, 8, 10, 10):
        outage.attempt(DOWN)
        assert expected <= outage.retried_after("p0") <= expected + 1, "as in kube-scheduler"
        outage.wait()


def test_a_spared_attempt_keeps_the_backoff_of_the_attempts_before() -> None:
    outage = Outage()
    for _ in range(3):
        outage.attempt(DOWN)
        outage.wait()
    outage.attempt(SPARED)
    assert 4 <= outage.retried_after("p0") <= 5


def test_an_answer_wakes_the_pods_that_were_spared() -> None:
    outage = Outage(pods=4)
    down = {outage.attempt(DOWN)}
    spared = {outage.attempt(SPARED), outage.attempt(SPARED)}
    probe = outage.attempt(DOWN)
    assert {outage.host.place(name) for name in (*down, *spared, probe)} == {"error_backoff"}
    outage.wait()
    spared -= {outage.attempt(passing("n"))}
    assert {outage.host.place(name) for name in spared} == {"active"}
    for _ in spared:
        outage.attempt(passing("n"))
    assert all(outage.host.node_of(name) == "n" for name in spared)


@pytest.mark.parametrize("answer", [Failure("licence pool exhausted"), passing()])
def test_any_answer_of_the_extender_does(answer: Any) -> None:
    outage = Outage(pods=2)
    spared = outage.attempt(SPARED)
    assert outage.host.place(spared) == "error_backoff"
    outage.attempt(answer)
    assert outage.host.place(spared) == "active"


def test_no_reply_does_not() -> None:
    outage = Outage(pods=2)
    spared = outage.attempt(SPARED)
    outage.attempt(DOWN)
    assert outage.host.place(spared) == "error_backoff"


def test_pods_that_were_called_for_keep_their_backoff() -> None:
    """One may be the reason of the outage."""
    outage = Outage(pods=3)
    called, spared = outage.attempt(DOWN), outage.attempt(SPARED)
    outage.attempt(passing("n"))
    assert outage.host.place(called) == "error_backoff"
    assert outage.host.place(spared) == "active"


def test_one_pod_is_retried_after_each_pause() -> None:
    outage = Outage(pods=4)
    for _ in range(4):
        outage.attempt(SPARED)
    for _ in range(5):
        outage.host.pass_time(outage.host.clock.now + CIRCUIT_PAUSE_SECONDS)
        assert outage.host.engine.queue_counts()["active"] >= 1
        outage.attempt(DOWN)
        while outage.host.engine.queue_counts()["active"]:
            outage.attempt(SPARED)


def test_another_extender_wakes_nobody() -> None:
    first, second = (FakeExtender(name, filter=lambda pod, nodes: None) for name in ("first", "second"))
    host = Host(node("n"), pod("a"), pod("b"), extenders=(first, second))
    for outcomes in ([passing("n"), SPARED], [passing("n"), DOWN]):
        host.schedule(CallExtender)
        for outcome in outcomes:
            host.answer(CallExtender, outcome)
            host.take()
        host.settle(CallExtender)
    assert {host.place("a"), host.place("b")} == {"error_backoff"}


def test_bindings() -> None:
    outage = Outage("bind", pods=2)
    for _ in range(3):
        outage.host.advance(3, CallExtender)
        spared = [outage.attempt(SPARED), outage.attempt(SPARED)]
        assert all(1 <= outage.retried_after(name) <= 2 for name in spared)
    outage.host.advance(3, CallExtender)
    outage.attempt(SPARED)
    bound = outage.attempt(None)
    (other,) = {"p0", "p1"} - {bound}
    assert outage.host.place(other) == "active"


def test_an_ignorable_extender_spares_no_attempt() -> None:
    outage = Outage(ignorable=True)
    outage.attempt(SPARED)
    assert outage.host.node_of("p0") == "n"
