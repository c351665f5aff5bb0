import random
from typing import Any

from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod

from stowplan.framework.instructions import Bind, Evict, Failure
from stowplan.simulator.faults import Delayed, Fault, Faults, bind_conflict, lost_answer, lost_request, slow


def stage(*faults: Fault) -> SimulatedCluster:
    return SimulatedCluster(node("n1"), pod("a"), faults=Faults(random.Random(7), faults))


def test_a_binding_may_be_refused() -> None:
    world = stage(bind_conflict(1.0))
    outcome = world.bind("a")
    assert isinstance(outcome, Failure)
    assert outcome.reason == "Conflict"
    assert outcome.message.startswith('Operation cannot be fulfilled on pods/binding "a": ')
    assert world.pod("a").spec.node_name == ""


def test_a_lost_request_does_nothing() -> None:
    world = stage(lost_request(1.0))
    outcome = world.bind("a")
    assert outcome.reason == "Timeout"
    assert world.pod("a").spec.node_name == ""


def test_a_lost_answer_comes_after_the_deed() -> None:
    world = stage(lost_answer(1.0))
    outcome = world.bind("a")
    assert outcome.reason == "Timeout"
    assert world.pod("a").spec.node_name == "n1"


def test_a_slow_answer_comes_after_the_deed() -> None:
    world = stage(slow(1.0, 2.0, 3.0))
    outcome = world.bind("a")
    assert isinstance(outcome, Delayed)
    assert 2.0 <= outcome.delay <= 3.0
    assert outcome.outcome is None
    assert world.pod("a").spec.node_name == "n1"


def test_faults_befall_some_requests_of_their_type() -> None:
    def strikes(faults: Faults) -> list[bool]:
        request: Any = Bind.__new__(Bind)
        return [faults.carry_out(request, lambda _: "done") != "done" for _ in range(200)]

    fault = Fault(0.3, Bind, lambda request, carry_out, rng: "struck")
    assert 30 < sum(strikes(Faults(random.Random(1), [fault]))) < 90
    assert strikes(Faults(random.Random(1), [fault])) == strikes(Faults(random.Random(1), [fault]))
    assert not any(strikes(Faults(random.Random(1), [fault._replace(affects=Evict)])))


def test_the_first_fault_that_comes_up_is_the_only_one() -> None:
    first = Fault(1.0, Bind, lambda request, carry_out, rng: "first")
    second = Fault(1.0, Bind, lambda request, carry_out, rng: "second")
    assert Faults(random.Random(0), [first, second]).carry_out(Bind.__new__(Bind), lambda _: "done") == "first"
