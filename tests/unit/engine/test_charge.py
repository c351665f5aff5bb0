"""Whatever the pods of one namespace cost, pods of others go on, and the expensive ones are tried all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host
from tests.extenders import FakeExtender

from stowplan.engine import Observer
from stowplan.framework import QueuedPodInfo
from stowplan.framework.extender import CallExtender, Filtered
from stowplan.queue.namespace_throttle import BURST_SECONDS

COSTS = {"hostile": 1.0, "ordinary": 0.001}
SHARE = 0.2


class Expensive(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[str, float, float]] = []

    def attempt_expensive(self, queued: QueuedPodInfo, seconds: float, waits: float) -> None:
        self.seen.append((queued.pod.name, round(seconds, 3), round(waits, 3)))


class CostlyHost(Host):
    """A host whose scheduling cycles take time by the pod's namespace."""

    def __init__(self, *items: Any, share: float = SHARE, **options: Any) -> None:
        super().__init__(node("n", pods=100_000), *items, max_namespace_share=share, **options)
        self.spent: Counter[str] = Counter()
        self.tried: list[str] = []

    def cycle(self) -> bool:
        self.engine.tick()
        if not self.engine.schedule_one():
            return False
        last = self.engine._cycles.last
        assert last is not None
        namespace = last.pod.namespace
        self.tried.append(last.pod.name)
        self.spent[namespace] += COSTS[namespace]  # type: ignore[assignment]
        self.clock.now += COSTS[namespace]
        self.engine.charge(COSTS[namespace])
        self.settle()
        return True

    def run(self, seconds: float, arrive: Callable[[], None] = lambda: None) -> None:
        """Run cycles back to back, and sleep until the next deadline when no pod is ready."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            arrive()
            if not self.cycle():
                due = self.next_deadline()
                self.pass_time(min(end, self.clock.now + 0.5 if due is None else max(due, self.clock.now + 0.001)))
                self.settle()


def hostile_pods(number: int, **more: Any) -> list[dict[str, Any]]:
    return [pod(f"h{i}", namespace="hostile", **more) for i in range(number)]


def test_ordinary_pods_are_bound_while_hostile_ones_wait() -> None:
    """The hostile pods come first. 1,000 ordinary pods need 1 s; one attempt, which exceeds the burst, adds 1 s."""
    host = CostlyHost(*hostile_pods(50), check_invariants=False)
    host.put(*(pod(f"o{i}", namespace="ordinary") for i in range(1000)))
    began = host.clock.now
    while "o999" not in host.tried[-1:]:
        assert host.cycle()
    assert host.clock.now - began < 1.0 + 1.0 + 0.001


def test_a_hostile_namespace_gets_its_share_and_no_more() -> None:
    host = CostlyHost(*hostile_pods(100), check_invariants=False)
    names = (f"o{i}" for i in range(1_000_000))

    def arrive() -> None:
        """Ordinary pods at all times, though fewer than the loop could handle."""
        if host.engine.queue_counts()["active"] < 2:
            host.put(pod(next(names), namespace="ordinary", requests={"cpu": 0}))
        host.clock.now += 0.1

    host.run(60.0, arrive)
    assert 0.9 * SHARE * 60 <= host.spent["hostile"] <= SHARE * 60 + BURST_SECONDS + 1.0
    assert sum(name.startswith("o") for name in host.tried) > 300


def test_hostile_pods_that_never_fit_do_not_stop_the_others_either() -> None:
    host = CostlyHost(*hostile_pods(5, nodeSelector={"no": "node"}))
    for second in range(60):
        host.put(pod(f"o{second}", namespace="ordinary"))
        host.state.queue.activate(queued.pod for queued in list(host.engine.queued_pods("unschedulable")))
        host.run(1.0)
    assert sum(name.startswith("o") for name in host.tried) == 60
    assert host.spent["hostile"] <= SHARE * 60 + BURST_SECONDS + 1.0
    assert len(host.tried) > 60 + 5


def test_all_hostile_pods_are_tried_in_the_end() -> None:
    host = CostlyHost(*hostile_pods(20), pod("o", namespace="ordinary"), check_invariants=False)
    host.run(100.0)
    assert Counter(host.tried) == Counter([*(f"h{i}" for i in range(20)), "o"])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_limit_can_be_switched_off(share: float) -> None:
    observer = Expensive()
    host = CostlyHost(*hostile_pods(20), pod("o", namespace="ordinary"), share=share, observer=observer)
    while host.cycle():
        pass
    assert host.tried == [*(f"h{i}" for i in range(20)), "o"]
    assert observer.seen == [(f"h{i}", 1.0, 0.0) for i in range(20)]


def test_expensive_attempts_are_reported_with_the_wait_that_follows() -> None:
    observer = Expensive()
    host = CostlyHost(*hostile_pods(3), pod("o", namespace="ordinary"), observer=observer)
    while host.cycle():
        pass
    assert observer.seen == [("h0", 1.0, round((1.0 - BURST_SECONDS) / SHARE, 3))]


def test_a_held_pod_keeps_its_attempts_and_can_be_deleted() -> None:
    host = CostlyHost(*hostile_pods(8), pod("o", namespace="ordinary"))
    while "o" not in host.tried:
        assert host.cycle()
    assert not host.engine.schedule_one()
    held = [queued.pod.name for queued in host.engine.queued_pods("throttled")]
    assert held
    assert host.unit(held[0]).attempts == 0
    assert host.engine.waits_for_time
    host.delete(pod(held[0], namespace="hostile"))
    assert host.place(held[0]) == ""
    host.put(pod(held[1], namespace="hostile", labels={"a": "b"}))
    assert host.place(held[1]) == "throttled"
    host.run(40.0)
    assert held[0] not in host.tried
    assert host.tried.count(held[1]) == 1
    assert not host.engine.waits_for_time


def test_a_held_preemptor_keeps_its_nomination() -> None:
    low = [pod(f"low{i}", "n", namespace="hostile", requests={"cpu": 1}) for i in range(4)]
    host = CostlyHost(*low, grace=30.0)
    host.put(node("n", cpu=4), *hostile_pods(4, priority=10, requests={"cpu": 1}), pod("o", namespace="ordinary"))
    host.run(25.0)
    assert len(host.engine.nominated_pods("n")) >= 3
    host.run(120.0)
    bound = {name for name in host.tried if host.engine.cluster.pods.get(f"hostile/{name}") is not None}
    assert bound == {f"h{i}" for i in range(4)}


def test_work_after_an_extender_answered_counts_too() -> None:
    observer = Expensive()
    extender = FakeExtender(filter=lambda pod, nodes: Filtered(list(nodes)))
    host = Host(node("a"), node("b"), pod("p"), extenders=(extender,), observer=observer, max_namespace_share=SHARE)
    assert host.engine.schedule_one()
    request: CallExtender = host.next_open(CallExtender)
    decide = host.engine._cycles._apply

    def slow(*args: Any) -> None:
        host.clock.now += 0.5
        decide(*args)

    host.engine._cycles._apply = slow  # type: ignore[method-assign]
    host.clock.now += 60.0  # waiting is not charged
    host.do(request, extender.answer(request))
    assert observer.seen == [("p", 0.5, round((0.5 - BURST_SECONDS) / SHARE, 3))]


@pytest.mark.parametrize(("share", "attempts"), [(SHARE, range(3, 6)), (0.0, range(30, 400))])
def test_large_pods_wait_in_proportion_to_their_cost(share: float, attempts: range) -> None:
    """Events wake them without a hint. Each attempt takes a second, so the next one comes after 100 s."""
    selector = {f"key-{number}": "value" for number in range(2_000)}
    host = CostlyHost(*hostile_pods(1, nodeSelector=selector), share=share, check_invariants=False)
    for second in range(350):
        host.put(node("n", pods=100_000, labels={"second": str(second)}))
        host.run(1.0)
    assert len(host.tried) in attempts
