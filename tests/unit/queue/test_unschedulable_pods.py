from __future__ import annotations

from math import inf

from tests.unit.queue.fakes import make_pod, names

from stowplan.framework import QueuedPodInfo
from stowplan.queue.unschedulable_pods import UnschedulablePods


def unit(name: str, *rejectors: str, at: float = 0.0, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name), at, unschedulable_plugins=set(rejectors), pending_plugins=set(pending))


def pool_of(*units: QueuedPodInfo) -> UnschedulablePods:
    pool = UnschedulablePods()
    for item in units:
        pool.put(item)
    return pool


def found(pool: UnschedulablePods, plugins: list[str]) -> list[str]:
    return names(info for replicas in pool.rejected_by(plugins) for info in replicas.infos.values())


def test_found_by_who_rejected_them() -> None:
    pool = pool_of(unit("a", "X"), unit("b", "X", "Y"), unit("c", "Y", pending=("Z", "Y")), unit("d", "W"))
    assert found(pool, ["X"]) == ["a", "b"]
    assert found(pool, ["X", "Y"]) == ["a", "b", "c"]
    assert found(pool, ["Z", "nobody"]) == ["c"]
    assert (len(pool), names(pool)) == (4, ["a", "b", "c", "d"])


def test_what_leaves_is_not_found() -> None:
    a, b = unit("a", "X", "Y"), unit("b", "X")
    pool = pool_of(a, b)
    pool.discard(a)
    assert (a.sub_queue, b.sub_queue) == (None, pool)
    assert found(pool, ["X", "Y"]) == ["b"]
    pool.discard(b)
    assert (len(pool), pool._by_rejector, pool._replicas, pool._of) == (0, {}, {}, {})


def test_rejectors_may_change_in_place() -> None:
    a = unit("a", "X")
    pool = pool_of(a, unit("b", "X"))
    a.unschedulable_plugins = {"Y"}
    pool.put(a)
    assert found(pool, ["X"]) == ["b"]
    assert found(pool, ["Y"]) == ["a"]
    assert names(pool) == ["a", "b"]


def test_flushing_marks_who_waited_too_long() -> None:
    a, b, c = (unit(name, "X", at=at) for name, at in [("a", 10.0), ("b", 20.0), ("c", 5.0)])
    pool = pool_of(a, b, c)
    assert pool.waiting_since == 5.0
    c.flush_timestamp = 21.0
    assert pool.flush(30.0, now=50.0) == [a]
    assert (a.was_flushed, a.flush_timestamp, b.was_flushed, c.was_flushed) == (True, 50.0, False, False)
    assert pool.waiting_since == 20.0
    assert pool.flush(30.0, now=52.0) == [b, c]


def test_an_empty_pool_waits_for_nothing() -> None:
    a = unit("a", "X", at=3.0)
    pool = pool_of(a)
    pool.discard(a)
    assert pool.waiting_since == inf
    assert pool.flush(30.0, now=50.0) == []


def test_held_pods_are_found_by_no_event_until_they_are_put_again() -> None:
    held = {"a", "b"}
    pool = UnschedulablePods(lambda info: info.pod.name in held)
    a, b = unit("a", "X"), unit("b", "X")
    a.gating_plugin = "X"
    pool.put(a)
    pool.put(b)
    assert found(pool, ["X"]) == ["b"], "only gated pods are held"
    held.clear()
    pool.put(a)
    assert found(pool, ["X"]) == ["b", "a"]
    assert len(pool) == 2


def test_a_pod_that_comes_back_waits_behind_the_others() -> None:
    pool = UnschedulablePods(key=lambda info: (info.timestamp,))
    template = unit("t").pod.template
    infos = [unit(name, "X", at=at) for name, at in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    for info in infos:
        info.pod.template = template
        pool.put(info)
    (replicas,) = pool.rejected_by(["X"])
    assert replicas.head().pod.name == "a"
    pool.discard(infos[0])
    infos[0].timestamp = 4.0
    pool.put(infos[0])
    order = []
    while len(pool):
        order.append(replicas.head().pod.name)
        pool.discard(replicas.head())
    assert order == ["b", "c", "a"]
