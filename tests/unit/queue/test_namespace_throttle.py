"""Pods of a namespace that has used up its share are held when it is their turn, and come back."""

from __future__ import annotations

import pytest
from tests.unit.queue.fakes import NODE_ADD, Rig, make_pod, names

from stowplan.framework import QueuedPodInfo
from stowplan.queue.namespace_throttle import (
    BURST_SECONDS,
    COMMON_SHARE,
    MAX_UNOPPOSED_WAIT_SECONDS,
    OTHERS_ACTIVE_SECONDS,
)

SHARE = 0.25


def rig_with(*hostile: str, ordinary: tuple[str, ...] = (), share: float = SHARE) -> Rig:
    rig = Rig(max_namespace_share=share)
    for name in hostile:
        rig.queue.add(make_pod(name, namespace="hostile"))
    for name in ordinary:
        rig.queue.add(make_pod(name, namespace="ordinary"))
    return rig


def attempt(rig: Rig, seconds: float) -> QueuedPodInfo:
    """An attempt that binds the pod, and is charged."""
    info = rig.pop()
    rig.clock.now += seconds
    rig.queue.charge(info.pod.namespace, seconds)
    rig.queue.done(info.pod.uid)
    return info


def indebted(*hostile: str, ordinary: tuple[str, ...] = ("o",)) -> Rig:
    """The namespace waits for four seconds, and the other one is active."""
    rig = rig_with("h", *hostile, ordinary=ordinary)
    assert attempt(rig, BURST_SECONDS + 1.0).pod.name == "h"
    assert rig.pop().pod.name == ordinary[0]
    return rig


def test_a_burst_has_no_consequence() -> None:
    rig = rig_with("h1", "h2", ordinary=("o",))
    assert attempt(rig, BURST_SECONDS - 0.1).pod.name == "h1"
    assert rig.pop().pod.name == "h2"


def test_a_namespace_in_debt_waits_and_others_go_on() -> None:
    rig = indebted("h1", "h2", ordinary=("o1", "o2"))
    assert rig.pop().pod.name == "o2"
    assert rig.queue.pop() is None
    assert names(rig.queue.throttled) == ["h1", "h2"]
    assert rig.queue.counts()["backoff"] == 2
    assert rig.queue.next_deadline() == rig.clock.now + 1.0 / SHARE
    assert ("backoff", "NamespaceThrottled") in rig.entered


def test_the_wait_ends_when_the_bucket_is_no_longer_empty() -> None:
    rig = indebted("h1", "h2")
    assert rig.queue.pop() is None
    rig.clock.now += 1.0 / SHARE - 0.01
    rig.queue.tick()
    assert names(rig.queue.throttled) == ["h1", "h2"]
    rig.clock.now += 0.01
    rig.queue.tick()
    assert names(rig.queue.active) == ["h1", "h2"]
    assert rig.pop().attempts == 1


def test_many_namespaces_together_get_the_common_share() -> None:
    rig = Rig(max_namespace_share=SHARE)
    spent = 0.0
    for number in range(20):
        for pod in range(100):
            rig.queue.add(make_pod(f"h{number}-{pod}", namespace=f"hostile-{number}"))
    began = rig.clock.now
    while (now := rig.clock.now) < began + 60.0:
        rig.queue.add(make_pod(f"o{now}", namespace="ordinary"))
        rig.queue.tick()
        while (info := rig.queue.pop()) is not None:
            seconds = 0.3 if info.pod.namespace != "ordinary" else 0.0
            rig.clock.now += seconds
            if seconds:
                spent += seconds
                rig.queue.charge(info.pod.namespace, seconds)
            rig.queue.done(info.pod.uid)
        rig.clock.now += 0.01
    assert 0.9 * COMMON_SHARE * 60 < spent < COMMON_SHARE * 60 + 20 * (BURST_SECONDS + 0.3)


def test_a_bucket_refills_faster_when_others_are_full() -> None:
    """Four namespaces refill with a tenth of the time each until three of them are full, then one with its share."""
    rig = Rig(max_namespace_share=SHARE)
    for name in ("h1", "h2", "h3", "h4", "h4-again"):
        rig.queue.add(make_pod(name, namespace=name[:2]))
    rig.queue.add(make_pod("o", namespace="ordinary"))
    for name in ("h1", "h2", "h3", "h4"):
        assert rig.pop().pod.name == name
        rig.queue.charge(name, BURST_SECONDS + (1.0 if name == "h4" else -0.1))
    assert rig.pop().pod.name == "o"
    assert rig.queue.pop() is None
    all_filling = 0.1 / (COMMON_SHARE / 4)
    assert rig.queue.next_deadline() == pytest.approx(rig.clock.now + all_filling)
    rig.clock.now += all_filling
    assert rig.queue.next_deadline() == pytest.approx(rig.clock.now + (1.0 - 0.1) / SHARE)
    for seconds, left in (((1.0 - 0.1) / SHARE - 0.01, ["h4-again"]), (0.01, [])):
        rig.clock.now += seconds
        rig.queue.add(make_pod(f"o{seconds}", namespace="ordinary"))
        rig.queue.tick()
        assert names(rig.queue.throttled) == left


def test_without_other_active_namespaces_no_pod_waits() -> None:
    rig = rig_with("h", "h1", "h2")
    attempt(rig, 100.0)
    assert rig.pop().pod.name == "h1"
    rig.queue.add(make_pod("o", namespace="ordinary"))
    assert rig.pop().pod.name == "o"
    assert rig.queue.pop() is None
    rig.clock.now += OTHERS_ACTIVE_SECONDS
    assert rig.queue.next_deadline() is not None
    assert rig.pop().pod.name == "h2"


def test_a_namespace_that_was_alone_waits_for_others_but_not_for_long() -> None:
    rig = rig_with("h", *(f"h{i}" for i in range(100)))
    attempt(rig, BURST_SECONDS + 1.0)
    for _ in range(50):
        rig.queue.tick()
        attempt(rig, 1.0)
    rig.queue.add(make_pod("o", namespace="ordinary"))
    assert rig.pop().pod.name == "o"
    assert rig.queue.pop() is None
    assert rig.queue.next_deadline() == rig.clock.now + MAX_UNOPPOSED_WAIT_SECONDS


def test_a_slow_attempt_of_an_ordinary_namespace_does_not_let_others_in() -> None:
    rig = indebted("h1", ordinary=("o", "o1"))
    assert attempt(rig, BURST_SECONDS / 2).pod.name == "o1"
    assert rig.queue.pop() is None
    assert names(rig.queue.throttled) == ["h1"]


def test_namespaces_that_are_all_expensive_do_not_wait_for_each_other() -> None:
    rig = rig_with("h1", "h2", ordinary=("o1", "o2"))
    for _ in range(4):
        attempt(rig, BURST_SECONDS * 2)
    assert not list(rig.queue.throttled)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_without_a_limit_no_pod_waits(share: float) -> None:
    rig = rig_with("h1", "h2", ordinary=("o",), share=share)
    assert attempt(rig, 1000.0).pod.name == "h1"
    assert [rig.pop().pod.name for _ in range(2)] == ["h2", "o"]


def test_held_pods_keep_the_order_of_the_queue() -> None:
    rig = indebted("h1")
    rig.queue.add(make_pod("urgent", 5, namespace="hostile"))
    assert rig.queue.pop() is None
    assert names(rig.queue.throttled) == ["urgent", "h1"]
    rig.clock.now += 60.0
    rig.queue.tick()
    assert rig.pop().pod.name == "urgent"


def test_a_held_pod_can_be_updated_removed_and_activated() -> None:
    rig = indebted("h1", "h2", "h3")
    assert rig.queue.pop() is None
    old = make_pod("h1", namespace="hostile")
    new = make_pod("h1", 7, namespace="hostile")
    rig.queue.update(old, new)
    rig.queue.remove(make_pod("h2", namespace="hostile"))
    assert next(rig.queue.throttled).pod is new
    assert names(rig.queue.throttled) == ["h1", "h3"]
    rig.queue.activate([new])
    assert rig.where("h1") == "active"
    assert rig.queue.pop() is None
    assert rig.where("h1") == "throttled"
    for name in ("h1", "h3"):
        rig.queue.remove(make_pod(name, namespace="hostile"))
    assert (len(rig.queue), rig.queue.next_deadline()) == (0, None)


def test_a_pod_that_backs_off_is_held_too_when_it_would_be_tried_early() -> None:
    rig = indebted("h1")
    rig.clock.now += 1.0 / SHARE
    rig.queue.tick()
    info = rig.pop()
    rig.clock.now += 1.0
    rig.queue.charge("hostile", 1.0)
    rig.fail(info, "Adds")
    rig.queue.move(NODE_ADD, None, "helps")
    assert rig.where("h1") == "backoff"
    assert rig.queue.pop() is None
    assert rig.where("h1") == "throttled"


def test_many_held_pods_are_released_in_parts() -> None:
    rig = indebted(*(f"h{i}" for i in range(250)))
    assert rig.queue.pop() is None
    rig.clock.now += 60.0
    left = []
    for _ in range(3):
        rig.queue.tick()
        left.append(len(list(rig.queue.throttled)))
        deadline = rig.queue.next_deadline()
        assert (deadline is not None and deadline <= rig.clock.now) is (left[-1] > 0)
    assert left == [150, 50, 0]
