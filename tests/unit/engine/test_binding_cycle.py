"""From a chosen node to a bound pod, where no user's plugin is involved."""

from __future__ import annotations

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import REFUSED, Host
from tests.unit.engine.recorder import Recorded

from stowplan.framework import Bind, EmitEvent, Failure


def test_a_pod_that_nobody_holds_up_is_bound_by_one_request() -> None:
    host = Host(node("a"), pod("p"))
    host.engine.schedule_one()
    (bind,) = host.take()
    assert isinstance(bind, Bind)
    assert (bind.pod.name, bind.node_name) == ("p", "a")
    assert host.assumed == {"p"}
    assert set(host.engine.attempts) == {"default/p"}
    assert not host.state.queue.in_flight("default/p")
    host.do(bind)
    (event,) = host.take()
    assert isinstance(event, EmitEvent)
    assert (event.type, event.reason, event.action) == ("Normal", "Scheduled", "Binding")
    assert event.note == "Successfully assigned default/p to a"
    assert (host.assumed, host.engine.attempts) == ({"p"}, {}), "bound, though no watch has told so"
    host.settle()
    assert host.assumed == set()


def test_the_answer_may_come_after_the_watch() -> None:
    host = Host(node("a"), pod("p"))
    host.engine.schedule_one()
    bind = host.next_open(Bind)
    outcome = host.world.execute(bind)
    host.deliver()
    assert (host.assumed, set(host.engine.attempts)) == (set(), {"default/p"})
    host.do(bind, outcome)
    assert host.events() == ["Scheduled: Successfully assigned default/p to a"]
    assert host.engine.attempts == {}


@pytest.mark.parametrize("refusal", [REFUSED, Failure("", "")])
def test_a_binding_that_fails_is_retried_after_a_pause(refusal: Failure) -> None:
    host = Host(node("a"), pod("p", nominated="a"))
    host.engine.schedule_one()
    assert not host.state.nominator.by_node
    host.answer(Bind, refusal)
    text = f'running Bind plugin "DefaultBinder": {refusal.message}'
    assert (host.assumed, host.engine.attempts, host.place("p")) == (set(), {}, "error_backoff")
    host.settle()
    assert host.condition("p") == ("False", "SchedulerError", text)
    assert host.pod("p").status.nominated_node_name == ""
    host.advance(3)
    assert host.node_of("p") == "a"
    assert host.events() == [f"FailedScheduling: {text}", "Scheduled: Successfully assigned default/p to a"]


def test_an_answer_that_is_lost_does_not_bind_twice() -> None:
    host = Host(node("a"), node("b"), pod("p"))
    host.engine.schedule_one()
    bind = host.next_open(Bind)
    host.world.execute(bind)
    host.do(bind, Failure("timed out", "Timeout"))
    assert host.place("p") == "error_backoff"
    host.schedule()
    host.advance(30)
    assert (host.node_of("p"), host.place("p")) == (bind.node_name, "")
    assert len([each for each in host.done if isinstance(each, Bind)]) == 1


def test_a_lost_answer_and_a_late_watch() -> None:
    """The pod is tried again, and the API server knows better."""
    host = Host(node("a"), pod("p"))
    host.engine.schedule_one()
    bind = host.next_open(Bind)
    host.world.execute(bind)
    host.do(bind, Failure("timed out", "Timeout"))
    host.pass_time(host.clock.now + 3)
    assert host.engine.schedule_one()
    host.do(host.next_open(Bind))
    text = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "a"'
    assert host.events()[-1] == f'FailedScheduling: running Bind plugin "DefaultBinder": {text}'
    host.schedule()
    assert host.engine.cluster.pods["default/p"].node_name == "a"
    assert (host.engine.pending, len(host.state.queue)) == ({}, 0)


def test_a_pod_that_the_cache_has_already_is_an_error() -> None:
    host = Host(node("a"), pod("p"), check_invariants=False)
    host.engine.cluster.add_pod(host.engine.cluster.pod(host.pod("p")))
    assert host.engine.schedule_one()
    text = "pod default/p(default/p) is in the cache, so can't be assumed"
    assert host.events() == [f"FailedScheduling: {text}"]
    assert not host.engine.attempts


def test_a_bug_after_the_cycle_costs_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*args: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("stowplan.engine.binding_cycle.run_permit", broken)
    host = Recorded(node("a"), pod("p"))
    host.schedule()
    assert host.condition("p") == ("False", "SchedulerError", "internal error: KeyError: 'lost'")
    assert (host.assumed, host.engine.attempts) == (set(), {})
