import threading
from types import SimpleNamespace
from typing import Any

import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.extender.reservations import Reservations
from stowplan.framework import NodeInfo, Pod


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """A cluster of nodes n1 and n2, and reservations of 60 s on it."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.clock = Clock()
        for name in ("n1", "n2"):
            self.cluster.put_node(api.Node(metadata=api.ObjectMeta(name=name)))
        self.held = Reservations[int](SimpleNamespace(cluster=self.cluster), seconds=60, clock=self.clock)

    def node(self, name: str) -> NodeInfo:
        info = self.cluster.nodes.get(name)
        assert info is not None
        return info

    def pod(self, uid: str, node_name: str = "") -> Pod:
        meta = api.ObjectMeta(name=uid, namespace="d", uid=uid)
        return self.cluster.pod(api.Pod(metadata=meta, spec=api.PodSpec(node_name=node_name)))


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_what_is_promised_where(stage: Stage) -> None:
    stage.held.reserve("a", "n1", 1)
    stage.held.reserve("b", "n1", 2)
    stage.held.reserve("c", "n2", 3)
    assert stage.held.on(stage.node("n1")) == {"a": 1, "b": 2}
    assert len(stage.held) == 3
    found = stage.held.of("c")
    assert found is not None
    assert (found.node_name, found.value) == ("n2", 3)


def test_a_pod_is_promised_one_thing(stage: Stage) -> None:
    stage.held.reserve("a", "n1", 1)
    stage.held.reserve("a", "n2", 2)
    assert stage.held.on(stage.node("n1")) == {}
    assert stage.held.on(stage.node("n2")) == {"a": 2}
    assert stage.held.ended["replaced"] == 1


def test_promises_expire(stage: Stage) -> None:
    stage.held.reserve("a", "n1", 1)
    stage.clock.now += 30
    stage.held.reserve("b", "n1", 2)
    stage.held.reserve("a", "n1", 3)  # and count from then on
    stage.clock.now += 59
    assert stage.held.on(stage.node("n1")) == {"b": 2, "a": 3}
    stage.clock.now += 1
    assert stage.held.of("a") is None
    assert len(stage.held) == 0
    assert stage.held.ended["expired"] == 2


def test_a_pod_that_is_seen_on_its_node(stage: Stage) -> None:
    stage.held.reserve("a", "n1", 1)
    stage.cluster.add_pod(stage.pod("a", "n1"))
    assert stage.held.on(stage.node("n1")) == {}
    assert stage.held.ended["confirmed"] == 1


def test_a_pod_that_is_only_assumed_there_keeps_its_promise(stage: Stage) -> None:
    stage.held.reserve("a", "n1", 1)
    stage.cluster.assume(stage.pod("a"), "n1")
    assert stage.held.on(stage.node("n1")) == {"a": 1}


def test_a_pod_that_was_assumed_there_and_is_gone(stage: Stage) -> None:
    """A scheduler may never have looked while the pod was there."""
    pod = stage.pod("a")
    stage.cluster.assume(pod, "n1")
    stage.held.reserve("a", "n1", 1)
    stage.cluster.add_pod(stage.pod("a", "n1"))
    stage.cluster.remove_pod("a")
    assert stage.held.on(stage.node("n1")) == {}
    assert stage.held.ended["released"] == 1


def test_a_pod_that_is_away_for_the_sake_of_argument(stage: Stage) -> None:
    pod, node = stage.pod("a"), stage.node("n1")
    stage.cluster.assume(pod, "n1")
    stage.held.reserve("a", "n1", 1)
    with stage.cluster.what_if() as journal:
        journal.remove(pod, node)
        assert stage.held.on(node) == {}
    assert stage.held.on(node) == {"a": 1}


def test_release_confirm_and_clear(stage: Stage) -> None:
    for uid in "abcd":
        stage.held.reserve(uid, "n1", 1)
    stage.held.release("a")
    stage.held.release("a")
    stage.held.confirm("b")
    assert set(stage.held.on(stage.node("n1"))) == {"c", "d"}
    stage.held.clear()
    assert stage.held.on(stage.node("n1")) == {}
    assert stage.held.ended == {"expired": 0, "confirmed": 1, "released": 3, "replaced": 0}


def test_a_claim_sees_what_others_hold_and_not_its_own(stage: Stage) -> None:
    node = stage.node("n1")
    stage.held.reserve("a", "n1", 1)
    stage.held.reserve("b", "n1", 2)
    seen: dict[str, int] = {}

    def choose(others: Any) -> int:
        seen.update(others)
        return 7

    assert stage.held.claim(stage.pod("a"), node, choose) == 7
    assert seen == {"b": 2}
    assert stage.held.on(node) == {"b": 2, "a": 7}
    assert stage.held.claim(stage.pod("c"), node, lambda others: None) is None
    assert stage.held.of("c") is None


def test_claims_by_many_threads_never_give_the_same_twice(stage: Stage) -> None:
    node, seats = stage.node("n1"), 40
    pods = [stage.pod(f"p{number}") for number in range(60)]
    start = threading.Barrier(12)

    def free(others: Any) -> int | None:
        taken = set(others.values())
        return next((seat for seat in range(seats) if seat not in taken), None)

    def work(mine: list[Pod]) -> None:
        start.wait()
        for pod in mine:
            stage.held.claim(pod, node, free)

    threads = [threading.Thread(target=work, args=(pods[first::12],)) for first in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(stage.held.on(node).values()) == list(range(seats))


def test_inside_the_lock_nobody_else_reserves(stage: Stage) -> None:
    other = threading.Thread(target=stage.held.reserve, args=("b", "n1", 2))
    with stage.held.locked():
        other.start()
        other.join(0.05)
        assert stage.held.on(stage.node("n1")) == {}
    other.join()
    assert stage.held.on(stage.node("n1")) == {"b": 2}


def test_a_pod_that_was_assumed_and_is_gone(stage: Stage) -> None:
    pod = stage.pod("a")
    stage.cluster.assume(pod, "n1")
    stage.held.reserve("a", "n1", 1)
    stage.cluster.forget(pod)
    assert stage.held.on(stage.node("n1")) == {}
    assert stage.held.ended["released"] == 1


def test_a_pod_that_is_absent_for_the_sake_of_argument(stage: Stage) -> None:
    pod = stage.pod("a")
    stage.cluster.assume(pod, "n1")
    stage.held.reserve("a", "n1", 1)
    with stage.cluster.what_if() as journal:
        journal.remove(pod, stage.node("n1"))
        assert stage.held.on(stage.node("n1")) == {}
    assert stage.held.on(stage.node("n1")) == {"a": 1}
