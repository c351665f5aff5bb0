import threading
from types import SimpleNamespace
from typing import Any

import pytest
from tests import builders
from tests.builders import Clock, typed

from stowplan.cache import Cluster
from stowplan.extender.reservations import Reservations
from stowplan.framework import NodeInfo, Pod


class ReservedCluster:
    """A cluster of nodes n1 and n2, and reservations of 60 s on it."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.clock = Clock()
        for name in ("n1", "n2"):
            self.cluster.put_node(typed(builders.node(name)))
        self.held = Reservations[int](SimpleNamespace(cluster=self.cluster), seconds=60, clock=self.clock)

    def node(self, name: str) -> NodeInfo:
        info = self.cluster.nodes.get(name)
        assert info is not None
        return info

    def pod(self, uid: str, node_name: str = "") -> Pod:
        return self.cluster.pod(typed(builders.pod(uid, node_name, uid=uid)))


@pytest.fixture
def reserved() -> ReservedCluster:
    return ReservedCluster()


def test_what_is_promised_where(reserved: ReservedCluster) -> None:
    reserved.held.reserve("a", "n1", 1)
    reserved.held.reserve("b", "n1", 2)
    reserved.held.reserve("c", "n2", 3)
    assert reserved.held.on(reserved.node("n1")) == {"a": 1, "b": 2}
    assert len(reserved.held) == 3
    found = reserved.held.of("c")
    assert found is not None
    assert (found.node_name, found.value) == ("n2", 3)


def test_a_pod_is_promised_one_thing(reserved: ReservedCluster) -> None:
    reserved.held.reserve("a", "n1", 1)
    reserved.held.reserve("a", "n2", 2)
    assert reserved.held.on(reserved.node("n1")) == {}
    assert reserved.held.on(reserved.node("n2")) == {"a": 2}
    assert reserved.held.ended["replaced"] == 1


def test_promises_expire(reserved: ReservedCluster) -> None:
    reserved.held.reserve("a", "n1", 1)
    reserved.clock.now += 30
    reserved.held.reserve("b", "n1", 2)
    reserved.held.reserve("a", "n1", 3)  # and count from then on
    reserved.clock.now += 59
    assert reserved.held.on(reserved.node("n1")) == {"b": 2, "a": 3}
    reserved.clock.now += 1
    assert reserved.held.of("a") is None
    assert len(reserved.held) == 0
    assert reserved.held.ended["expired"] == 2


def test_a_pod_that_is_seen_on_its_node(reserved: ReservedCluster) -> None:
    reserved.held.reserve("a", "n1", 1)
    reserved.cluster.add_pod(reserved.pod("a", "n1"))
    assert reserved.held.on(reserved.node("n1")) == {}
    assert reserved.held.ended["confirmed"] == 1


def test_a_pod_that_is_only_assumed_there_keeps_its_promise(reserved: ReservedCluster) -> None:
    reserved.held.reserve("a", "n1", 1)
    reserved.cluster.assume(reserved.pod("a"), "n1")
    assert reserved.held.on(reserved.node("n1")) == {"a": 1}


def test_a_pod_that_was_assumed_there_and_is_gone(reserved: ReservedCluster) -> None:
    """A scheduler may never have looked while the pod was there."""
    pod = reserved.pod("a")
    reserved.cluster.assume(pod, "n1")
    reserved.held.reserve("a", "n1", 1)
    reserved.cluster.add_pod(reserved.pod("a", "n1"))
    reserved.cluster.remove_pod("a")
    assert reserved.held.on(reserved.node("n1")) == {}
    assert reserved.held.ended["released"] == 1


def test_a_pod_that_is_away_for_the_sake_of_argument(reserved: ReservedCluster) -> None:
    pod, node = reserved.pod("a"), reserved.node("n1")
    reserved.cluster.assume(pod, "n1")
    reserved.held.reserve("a", "n1", 1)
    with reserved.cluster.what_if() as journal:
        journal.remove(pod, node)
        assert reserved.held.on(node) == {}
    assert reserved.held.on(node) == {"a": 1}


def test_release_confirm_and_clear(reserved: ReservedCluster) -> None:
    for uid in "abcd":
        reserved.held.reserve(uid, "n1", 1)
    reserved.held.release("a")
    reserved.held.release("a")
    reserved.held.confirm("b")
    assert set(reserved.held.on(reserved.node("n1"))) == {"c", "d"}
    reserved.held.clear()
    assert reserved.held.on(reserved.node("n1")) == {}
    assert reserved.held.ended == {"expired": 0, "confirmed": 1, "released": 3, "replaced": 0}


def test_a_claim_sees_what_others_hold_and_not_its_own(reserved: ReservedCluster) -> None:
    node = reserved.node("n1")
    reserved.held.reserve("a", "n1", 1)
    reserved.held.reserve("b", "n1", 2)
    seen: dict[str, int] = {}

    def choose(others: Any) -> int:
        seen.update(others)
        return 7

    assert reserved.held.claim(reserved.pod("a"), node, choose) == 7
    assert seen == {"b": 2}
    assert reserved.held.on(node) == {"b": 2, "a": 7}
    assert reserved.held.claim(reserved.pod("c"), node, lambda others: None) is None
    assert reserved.held.of("c") is None


def test_claims_by_many_threads_never_give_the_same_twice(reserved: ReservedCluster) -> None:
    node, seats = reserved.node("n1"), 40
    pods = [reserved.pod(f"p{number}") for number in range(60)]
    start = threading.Barrier(12)

    def free(others: Any) -> int | None:
        taken = set(others.values())
        return next((seat for seat in range(seats) if seat not in taken), None)

    def work(mine: list[Pod]) -> None:
        start.wait()
        for pod in mine:
            reserved.held.claim(pod, node, free)

    threads = [threading.Thread(target=work, args=(pods[first::12],)) for first in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reserved.held.on(node).values()) == list(range(seats))


def test_inside_the_lock_nobody_else_reserves(reserved: ReservedCluster) -> None:
    other = threading.Thread(target=reserved.held.reserve, args=("b", "n1", 2))
    with reserved.held.locked():
        other.start()
        other.join(0.05)
        assert reserved.held.on(reserved.node("n1")) == {}
    other.join()
    assert reserved.held.on(reserved.node("n1")) == {"b": 2}


def test_a_pod_that_was_assumed_and_is_gone(reserved: ReservedCluster) -> None:
    pod = reserved.pod("a")
    reserved.cluster.assume(pod, "n1")
    reserved.held.reserve("a", "n1", 1)
    reserved.cluster.forget(pod)
    assert reserved.held.on(reserved.node("n1")) == {}
    assert reserved.held.ended["released"] == 1


def test_a_pod_that_is_absent_for_the_sake_of_argument(reserved: ReservedCluster) -> None:
    pod = reserved.pod("a")
    reserved.cluster.assume(pod, "n1")
    reserved.held.reserve("a", "n1", 1)
    with reserved.cluster.what_if() as journal:
        journal.remove(pod, reserved.node("n1"))
        assert reserved.held.on(reserved.node("n1")) == {}
    assert reserved.held.on(reserved.node("n1")) == {"a": 1}
